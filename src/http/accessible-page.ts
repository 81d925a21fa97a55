import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'

/** Darker than the page's own colours, which are too faint on their grounds. */
const STYLE = `
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fa8; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #17703f; }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a5200; }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #0b6b62; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .opblock.opblock-head .opblock-summary-method { background: #6f2da8; }
.swagger-ui .opblock.opblock-options .opblock-summary-method { background: #0d5aa7; }
.swagger-ui .info .title small { background: #4a5060 !important; }
.swagger-ui .info .title small.version-stamp { background: #3d6200 !important; }
.swagger-ui .info .title small pre { background: transparent; }
.swagger-ui .info .url, .swagger-ui .info a, .swagger-ui .markdown a, .swagger-ui .renderedMarkdown a { color: #1f5fa8; }
.swagger-ui .btn.cancel { color: #b3261e; border-color: #b3261e; }
.swagger-ui .btn.execute { background: #1f5fa8; border-color: #1f5fa8; }
.swagger-ui .btn.authorize { color: #17703f; border-color: #17703f; }
.swagger-ui .parameter__in, .swagger-ui .parameter__extension { color: #555; }
.swagger-ui .parameter__name.required::after, .swagger-ui .parameter__name.required span { color: #b3261e; }
.swagger-ui .response-control-media-type__accept-message, .swagger-ui .response-control-media-type__accept-message code { color: #17703f; }
.swagger-ui .json-schema-2020-12-expand-deep-button { color: #505050; }
`

/** Names and levels that the page leaves out. It draws itself again at each step, so they are set again, too. */
const SCRIPT = `
const set = (selector, name, value) => {
  for (const element of document.querySelectorAll(selector)) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value)
  }
}
const complete = () => {
  for (const [place, name] of [['.information-container', 'About'], ['.scheme-container', 'Connection']]) {
    set(place, 'role', 'region')
    set(place, 'aria-label', name)
  }
  for (const [i, table] of [...document.querySelectorAll('table.responses-table')].entries()) {
    table.setAttribute('aria-label', 'Responses ' + (i + 1))
  }
  for (const field of document.querySelectorAll('.opblock :is(select, textarea, input):not([aria-label])')) {
    field.setAttribute('aria-label', field.closest('tr')?.dataset.paramName ?? 'Body')
  }
  set('.swagger-ui pre', 'tabindex', '0')
  set('#servers', 'aria-label', 'Server')
  set('h3.opblock-tag', 'aria-level', '2')
  set('.swagger-ui h4', 'aria-level', '3')
  set('.swagger-ui h5', 'aria-level', '4')
}
new MutationObserver(complete).observe(document.documentElement, { childList: true, subtree: true })
complete()
`

/** What makes the page to try routes readable for everyone: enough contrast, names of all fields, no control in another. */
export const ACCESSIBLE_PAGE: Pick<FastifySwaggerUiOptions, 'uiConfig' | 'theme'> = {
  // The bar at the top only asks for another document; links in the heads of operations are controls within controls.
  uiConfig: { layout: 'BaseLayout', deepLinking: false },
  theme: {
    css: [{ filename: 'accessible.css', content: STYLE }],
    js: [{ filename: 'accessible.js', content: SCRIPT }],
  },
}
