import type { Operation, Schema } from './openapi.ts'

/** Empty for operations that peers or upstreams sign. */
export function exampleForm(
  path: string,
  method: string,
  operation: Operation,
  escape: (text: string) => string,
): string {
  if (operation.security?.some((scheme) => !('bearer' in scheme))) return ''
  const inputs = (operation.parameters ?? []).map(
    ({ name, in: place, required }) =>
      `<label>${escape(name)}<input name="${escape(name)}" id="${idOf(operation, name)}" data-name="${escape(name)}" data-in="${place}" autocomplete="off"${required ? ' required' : ''}></label>`,
  )
  const access = operation.security ? 'bearer' : 'anyone'
  return `<form class="try" data-method="${method.toUpperCase()}" data-path="${escape(path)}" data-access="${access}">
<h3>Try it</h3>${inputs.join('')}${bodyInput(method, operation, escape)}<button>Send</button><pre hidden role="status" tabindex="0"></pre></form>`
}

function bodyInput(method: string, operation: Operation, escape: (text: string) => string): string {
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
