export type TestBrowser = ReturnType<typeof openBrowser>

/** A browser without pages: cookies, and redirects up to a page of the web app, which has a fragment. */
export function openBrowser() {
  const jar = new Map<string, string>()
  const fetchOnce = async (url: string, init: RequestInit = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(init.headers as Record<string, string>), cookie }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(name, value)
    }
    return response
  }
  type Page = { url: string; text: string; status: number; headers: Headers }
  const follow = async (url: string, init: RequestInit = {}, most = 20): Promise<Page> => {
    const response = await fetchOnce(url, init)
    const { status, headers } = response
    const location = headers.get('location')
    if (location === null || location.includes('#')) {
      return { url: location ?? url, text: await response.text(), status, headers }
    }
    if (most === 0) throw new Error(`the browser is sent on and on, last from ${url} to ${location}`)
    return await follow(new URL(location, url).href, {}, most - 1)
  }
  const send = async (url: string, form: Record<string, string>) =>
    await follow(url, { method: 'POST', body: new URLSearchParams(form) })
  return { fetchOnce, follow, send }
}
