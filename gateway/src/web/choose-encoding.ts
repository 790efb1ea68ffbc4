import type { Encoding } from './web-files.ts'

/** The smallest form that an Accept-Encoding header allows; undefined for none. RFC 9110, 12.5.3. */
export function chooseEncoding(header: string | undefined): Encoding | undefined {
  if (!header) return undefined
  const allowed = new Map(header.split(',').map(readPreference))
  const takes = (name: string): boolean => (allowed.get(name) ?? allowed.get('*') ?? 0) > 0
  if (takes('br')) return 'br'
  return takes('gzip') ? 'gzip' : undefined
}

function readPreference(text: string): [string, number] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))
  return [name, quality === undefined ? 1 : Number(quality.slice(2)) || 0]
}
