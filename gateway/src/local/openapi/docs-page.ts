import { createHash } from 'node:crypto'
import { exampleForm } from './docs-example.ts'
import { docsScript } from './docs-script.ts'
import { docsStyle } from './docs-style.ts'
import type { OpenApi, Operation, Schema } from './openapi.ts'

/** Same as services/web/src/components/wordmark.tsx. */
const wordmark = `<svg class="wordmark" viewBox="0 0 165 36" aria-hidden="true">
<path class="mark" d="M78 28v-7a6 6 0 0 1 12 0v7z" />
<g class="stroke">
<path d="M16 13v15.5A6.5 6.5 0 0 1 4.6 32.9" />
<circle cx="9" cy="20" r="7" />
<circle cx="30" cy="20" r="7" />
<path d="M37 13v15" />
<path d="M46 6v18a4 4 0 0 0 4 4h2M42 13h10" />
<path d="M56.5 20h14a7 7 0 1 0-2.05 4.95" />
<path d="M78 5v23M78 21a6 6 0 0 1 12 0v7" />
<circle cx="103" cy="20.5" r="7" />
<path d="M116 13v8a6 6 0 0 0 12 0v-8M128 13v15" />
<path d="M143.4 15.3c-.9-1.5-2.5-2.3-4.4-2.3-2.5 0-4.3 1.4-4.3 3.6 0 4.9 9.2 2.6 9.2 7.5 0 2.4-2 3.9-4.7 3.9-2.2 0-4-.9-5-2.6" />
<path d="M149.5 20h13.8a7 7 0 1 0-2.05 4.95" />
</g>
</svg>`

/** The page loads nothing and runs only its own script. Contract: 8. */
export function createDocsPage(openApi: OpenApi) {
  const document = withoutReferences(openApi)
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const contentPolicy = [
    `default-src 'none'; style-src ${hashOf(docsStyle)}; script-src ${hashOf(docsScript)}`,
    `connect-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
  ].join('; ')
  const groups = document.tags.map(({ name, description }) => group(document, { name, description })).join('')
  const contents = document.tags.map(({ name }) => `<a href="#${slug(name)}">${escape(name)}</a>`).join('')
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(document.info.title)} API</title>
<link rel="icon" href="/favicon.svg">
<style>${docsStyle}</style>
</head>
<body>
<header class="bar"><div><a href="/" aria-label="Gatehouse, home">${wordmark}</a></div></header>
<main><h1>API <small>${escape(document.info.title)} ${escape(document.info.version)}</small></h1>
<p>${escape(document.info.description)}</p>
<p>As OpenAPI: <a href="/api/openapi.json">openapi.json</a></p>
<nav aria-label="Sections">${contents}</nav>
<form class="token"><label>Your token<input id="token" name="token" type="password" autocomplete="off" spellcheck="false"></label>
<p class="muted">Sent with the examples below. It is filled in when you are logged in to this instance in this browser.</p></form>
${groups}</main>
<script>${docsScript}</script>
</body>
</html>`
  return { type: 'text/html; charset=utf-8', contentPolicy, text }
}

function group(document: OpenApi, tag: { name: string; description: string }): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(tag.name))
      .map(([method, operation]) => describe(path, method, operation)),
  )
  return `<section id="${slug(tag.name)}"><h2>${escape(tag.name)}</h2><p>${escape(tag.description)}.</p>${operations.join('')}</section>`
}

function describe(path: string, method: string, operation: Operation): string {
  const [scheme = 'bearer'] = Object.keys(operation.security?.[0] ?? {})
  const access = scheme === 'bearer' ? 'bearer token' : scheme === 'peer' ? 'signed by a peer' : 'signed by an upstream'
  const parts = [
    operation.security ? `<p class="access">Needs: ${access}</p>` : '',
    parameterTable(operation),
    bodyBlock(operation),
    replyBlocks(operation),
    exampleForm(path, method, operation, escape),
  ]
  return `<details id="${escape(operation.operationId)}"><summary>
<span class="method ${method}">${method.toUpperCase()}</span> <code>${escape(path)}</code>
<span class="what">${escape(operation.summary)}</span></summary><div>${parts.join('')}</div></details>`
}

function parameterTable({ parameters }: Operation): string {
  if (!parameters) return ''
  const rows = parameters.map(
    ({ name, in: place, required, schema }) =>
      `<tr><td><code>${escape(name)}</code></td><td>${place}${required ? ', required' : ''}</td><td>${shape(schema)}</td></tr>`,
  )
  return `<h3>Parameters</h3><table><tbody>${rows.join('')}</tbody></table>`
}

function bodyBlock({ requestBody }: Operation): string {
  if (!requestBody) return ''
  const [body] = Object.entries(requestBody.content)
  return body ? `<h3>Body <small>${escape(body[0])}</small></h3>${shape(body[1].schema)}` : ''
}

function replyBlocks({ responses }: Operation): string {
  const replies = Object.entries(responses).map(([status, { description, content }]) => {
    const schema = Object.values(content ?? {})[0]?.schema
    const body = schema && Number(status) < 300 ? shape(schema) : ''
    return `<dt><b class="s${status[0]}">${status}</b> ${escape(description)}</dt><dd>${body}</dd>`
  })
  return `<h3>Responses</h3><dl>${replies.join('')}</dl>`
}

function shape(schema: Schema): string {
  const { properties, required = [] } = schema
  if (!properties) return `<span class="type">${escape(nameOf(schema))}</span>`
  const rows = Object.entries(properties).map(
    ([name, value]) =>
      `<tr><td><code>${escape(name)}</code>${required.includes(name) ? '' : ' <small>optional</small>'}</td><td>${nested(value)}</td></tr>`,
  )
  return `<table><tbody>${rows.join('')}</tbody></table>`
}

function nested(schema: Schema): string {
  const items = schema.type === 'array' ? schema.items : undefined
  if (items?.properties) return `<span class="type">list of</span>${shape(items)}`
  return schema.properties ? shape(schema) : `<span class="type">${escape(nameOf(schema))}</span>`
}

function nameOf(schema: Schema): string {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return choices.map(nameOf).join(' or ')
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === 'array') return `list of ${nameOf(schema.items ?? {})}`
  const bounds = [
    schema.minLength === undefined ? '' : `at least ${schema.minLength} characters`,
    schema.maxLength === undefined ? '' : `at most ${schema.maxLength} characters`,
    schema.description ?? '',
  ].filter(Boolean)
  const type = [schema.type ?? 'any'].flat().join(' or ')
  return bounds.length > 0 ? `${type}, ${bounds.join(', ')}` : type
}

const slug = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]+/g, '-')

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)

/** Each schema where it is used. */
export function withoutReferences({ components, ...document }: OpenApi): OpenApi {
  const read = (_: string, value: Schema | null): unknown => {
    const name = value?.$ref?.split('/').at(-1)
    return name === undefined ? value : JSON.parse(JSON.stringify(components.schemas[name]), read)
  }
  return { ...(JSON.parse(JSON.stringify(document), read) as Omit<OpenApi, 'components'>), components }
}
