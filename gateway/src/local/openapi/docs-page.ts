import { createHash } from 'node:crypto'
import { docsScript, docsStyle, wordmark } from './docs-assets.ts'
import type { OpenApi, Operation, Schema } from './openapi.ts'

/** The page loads nothing and runs only its own script. Contract: 8, public routes of the gateway. */
export function createDocsPage(openApi: OpenApi) {
  const document = withoutReferences(openApi)
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const contentPolicy = [
    `default-src 'none'; style-src ${hashOf(docsStyle)}; script-src ${hashOf(docsScript)}`,
    `connect-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
  ].join('; ')
  const groups = document.tags.map((tag) => group(document, tag)).join('')
  const contents = document.tags.map(({ name }) => `<a href="#${slug(name)}">${escape(name)}</a>`).join('')
  const title = escape(document.info.title)
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title} API</title><link rel="icon" href="/favicon.svg">
<style>${docsStyle}</style></head>
<body><header class="bar"><div><a href="/" aria-label="Gatehouse, home">${wordmark}</a></div></header>
<main><h1>API <small>${title} ${escape(document.info.version)}</small></h1>
<p>${escape(document.info.description)}</p><p>As OpenAPI: <a href="/api/openapi.json">openapi.json</a></p>
<nav aria-label="Sections">${contents}</nav>
<form class="token"><label>Your token<input id="token" name="token" type="password" autocomplete="off" spellcheck="false"></label>
<p class="muted">Sent with the examples below. It is filled in when you are logged in to this instance in this browser.</p></form>
${groups}</main><script>${docsScript}</script></body>
</html>`
  return { type: 'text/html; charset=utf-8', contentPolicy, text }
}

function group({ paths }: OpenApi, { name, description }: OpenApi['tags'][number]): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) => {
    const own = Object.entries(methods).filter(([, { tags }]) => tags.includes(name))
    return own.map(([method, operation]) => describe(path, method, operation))
  })
  return `<section id="${slug(name)}"><h2>${escape(name)}</h2><p>${escape(description)}.</p>${operations.join('')}</section>`
}

function describe(path: string, method: string, operation: Operation): string {
  const [scheme = 'bearer'] = Object.keys(operation.security?.[0] ?? {})
  const access = scheme === 'bearer' ? 'bearer token' : scheme === 'peer' ? 'signed by a peer' : 'signed by an upstream'
  const parts = [
    operation.security ? `<p class="access">Needs: ${access}</p>` : '',
    parameterTable(operation),
    bodyBlock(operation),
    replyBlocks(operation),
    exampleForm(path, method, operation),
  ]
  return `<details id="${escape(operation.operationId)}"><summary>
<span class="method ${method}">${method.toUpperCase()}</span> <code>${escape(path)}</code>
<span class="what">${escape(operation.summary)}</span></summary><div>${parts.join('')}</div></details>`
}

function parameterTable({ parameters }: Operation): string {
  if (!parameters) return ''
  const rows = parameters.map(({ name, in: place, required, schema }) => {
    const where = required ? `${place}, required` : place
    return `<tr><td><code>${escape(name)}</code></td><td>${where}</td><td>${shape(schema)}</td></tr>`
  })
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
  return items?.properties ? `<span class="type">list of</span>${shape(items)}` : shape(schema)
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

/** Empty for operations that peers or upstreams sign. */
function exampleForm(path: string, method: string, operation: Operation): string {
  if (operation.security?.some((scheme) => !('bearer' in scheme))) return ''
  const inputs = (operation.parameters ?? []).map(
    ({ name, in: place, required }) =>
      `<label>${escape(name)}<input name="${escape(name)}" id="${idOf(operation, name)}" data-name="${escape(name)}" data-in="${place}" autocomplete="off"${required ? ' required' : ''}></label>`,
  )
  const access = operation.security ? 'bearer' : 'anyone'
  return `<form class="try" data-method="${method.toUpperCase()}" data-path="${escape(path)}" data-access="${access}">
<h3>Try it</h3>${inputs.join('')}${bodyInput(method, operation)}<button>Send</button><pre hidden role="status" tabindex="0"></pre></form>`
}

function bodyInput(method: string, operation: Operation): string {
  const [body] = Object.entries(operation.requestBody?.content ?? {})
  if (!body) return ''
  const [type, { schema }] = body
  if (type !== 'application/json')
    return `<label>file<input type="file" name="file" id="${idOf(operation, 'file')}" accept="image/*"></label>`
  const example = JSON.stringify(method === 'patch' ? changeOf(schema) : exampleOf(schema), null, 2)
  return `<label>Body<textarea name="body" id="${idOf(operation, 'body')}" spellcheck="false" autocomplete="off">${escape(example)}</textarea></label>`
}

const idOf = ({ operationId }: Operation, name: string): string => `${operationId}-${name}`

/** A change of all fields would clear their values. */
export function changeOf({ properties = {} }: Schema): Record<string, unknown> {
  const [name, schema = {}] = Object.entries(properties)[0] ?? []
  if (name === undefined) return {}
  const isText = [schema, ...(schema.anyOf ?? [])].some(({ type }) => [type].flat().includes('string'))
  return { [name]: isText ? 'text' : exampleOf(schema) }
}

export function exampleOf(schema: Schema): unknown {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return choices.some(({ type }) => type === 'null') ? null : exampleOf(choices[0] ?? {})
  if ([schema.type].flat().includes('null')) return null
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.properties) {
    return Object.fromEntries(Object.entries(schema.properties).map(([name, value]) => [name, exampleOf(value)]))
  }
  const [type = 'string'] = [schema.type ?? []].flat()
  return { array: [], object: {}, integer: 1, number: 1, boolean: false, null: null, string: '' }[type] ?? null
}

const slug = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]+/g, '-')
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)

/** Each schema where it is used. */
function withoutReferences({ components, ...document }: OpenApi): OpenApi {
  const read = (_: string, value: Schema | null): unknown => {
    const name = value?.$ref?.split('/').at(-1)
    return name === undefined ? value : JSON.parse(JSON.stringify(components.schemas[name]), read)
  }
  return { ...(JSON.parse(JSON.stringify(document), read) as Omit<OpenApi, 'components'>), components }
}
