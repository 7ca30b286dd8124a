WAITFOR (
  RECEIVE TOP (1) @h = conversation_handle, @mt = message_type_name, @body = CAST(message_body AS nvarchar(max))
  FROM dbo.TargetQueue
), TIMEOUT 5000;
RECEIVE TOP (10) conversation_handle, message_type_name, message_body FROM dbo.TargetQueue INTO @msgs WHERE conversation_group_id = @g;
WAITFOR (GET CONVERSATION GROUP @g FROM dbo.TargetQueue), TIMEOUT 1000;
