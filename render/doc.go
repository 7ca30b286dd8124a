// Package render is the handler of jobs of type "render": an HTML template and data
// become a PDF, a PNG or HTML.
//
//	{"template":"<h1>{{.title}}</h1>","data":{"title":"Invoice"},"format":"pdf"}
//	{"template":"invoice.html","data":{…},"format":"png"}
//
// The template is one of package html/template, written out or, if it has none of
// the characters < { and line break, the name of a file below the configured folder.
// The output is {"format":"pdf","size":…,"content_type":"application/pdf"}; PDF and
// PNG are the reply's body, HTML is "body" in the output.
//
// # The browser
//
// PDF and PNG take Chromium, from the option Browser or from PATH; HTML takes none.
// Each job has a process of its own with an empty profile in a new folder, and no
// environment but PATH and a home in that folder. It is spoken to through two pipes:
// no port is opened. Its process group is killed when the job ends, however it ends.
//
// # What a template cannot do
//
// The page is answered from memory under the address https://render.invalid/. Every
// other request of the page is refused before it leaves the browser: http and file,
// images, styles, fonts, frames and navigations; only data: URLs work. Behind that
// stand a Content-Security-Policy, a proxy that is not there, and a resolver that
// knows no name. Scripts do not run. A template that does not end is stopped with
// its job's time; what it writes and what comes out are capped.
//
// The browser's own sandbox is on unless NoSandbox says otherwise, which a process of
// root needs: run workers that render as an ordinary user.
package render
