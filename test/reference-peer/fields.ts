/** A property of a parsed body, whatever the body is. */
export function field(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, name)
    ? (body as Record<string, unknown>)[name]
    : undefined
}

/** A property that is a text with something in it, else null. */
export function textField(body: unknown, name: string): string | null {
  const value = field(body, name)
  return typeof value === 'string' && value !== '' ? value : null
}

export function nullableTextField(body: unknown, name: string): string | null {
  const value = field(body, name)
  return typeof value === 'string' ? value : null
}
