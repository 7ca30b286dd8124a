SELECT 1 /* unclosed comment
