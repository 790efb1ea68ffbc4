/** One call of the public API: what came back, with its status. */
export async function callApi(
  origin: string,
  request: string,
  options: { token?: string | undefined; body?: object; headers?: Record<string, string> } = {},
) {
  const [method, path] = request.split(' ') as [string, string]
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(options.body && { 'Content-Type': 'application/json' }),
      ...(options.token && { Authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    ...(options.body && { body: JSON.stringify(options.body) }),
  })
  const text = await response.text()
  const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> & { token?: string; error?: string }
  return { status: response.status, headers: response.headers, body }
}
