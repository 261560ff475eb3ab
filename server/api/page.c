/* page.c - GET /: a live page over the other endpoints. It is one text without other files, so that
 * its policy can forbid everything from elsewhere. */
#include "server/api/routes.h"

static const char page[] =
    "<!doctype html><html lang=en><meta charset=utf-8><title>flashsale</title>\n"
    "<meta name=viewport content='width=device-width'>\n"
    "<style>body{font:16px/1.5 system-ui;max-width:44rem;margin:2rem auto;padding:0 1rem}\n"
    "dl{display:grid;grid-template-columns:10rem 1fr}dd{margin:0}\n"
    ".bad{color:#b00;font-weight:bold}progress{width:100%}</style>\n"
    "<h1>flashsale</h1>\n"
    "<form><label>Item <input name=item></label> <button>Show</button></form>\n"
    "<progress value=0 max=1></progress><dl></dl><p id=said></p>\n"
    "<p><button id=buy>Buy one</button></p>\n"
    "<script>\n"
    "const item=new URLSearchParams(location.search).get('item')||'P0001';\n"
    "const $=s=>document.querySelector(s);$('input').value=item;\n"
    "async function show(){try{const r=await fetch('/stock?item='+encodeURIComponent(item));\n"
    " const s=await r.json();$('dl').replaceChildren();\n"
    " for(const k in s){const t=document.createElement('dt'),d=document.createElement('dd');\n"
    "  t.textContent=k;d.textContent=s[k];\n"
    "  if((k=='oversold'||k=='lost_updates')&&s[k]>0)d.className='bad';\n"
    "  $('dl').append(t,d)}\n"
    " $('progress').max=s.initial||1;$('progress').value=s.remaining||0}\n"
    " catch(e){$('#said').textContent=e}setTimeout(show,500)}\n"
    "$('#buy').onclick=async()=>{const r=await fetch('/buy?user=page&item='+\n"
    " encodeURIComponent(item),{method:'POST'});$('#said').textContent=await r.text()};\n"
    "show()</script></html>\n";

void api_page(fs_api *api, const api_request *request, api_reply *reply)
{
    (void)api, (void)request;
    reply->status = 200;
    reply->content_type = "text/html; charset=utf-8";
    text_add_bytes(&reply->body, page, sizeof(page) - 1);
}
