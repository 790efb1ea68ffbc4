import type { ApplicationReply } from '@gatehouse/contracts'
import { answered, freePort } from '@gatehouse/test-kit'
import { startInstance } from './instance.ts'
import type { TestBrowser } from './open-browser.ts'

type Call = { token?: string; body?: object; headers?: Record<string, string> }
/** Of everyone in it. */
export const password = 'a long password'

/** An embedded instance to whose applications its people may log in: the admin `founder`, and `alice`. */
export async function startOpenidInstance(more: Record<string, string> = {}, host = '127.0.0.1') {
  await using opening = new AsyncDisposableStack()
  const port = await freePort()
  const origin = `http://${host}:${port}`
  const environment = { PORT: String(port), PUBLIC_ORIGIN: origin, FEDERATION_ALLOW_PRIVATE: 'loopback', ...more }
  const instance = opening.use(await startInstance(environment))
  const call = async <Body = Record<string, unknown>>(method: string, path: string, options: Call = {}) => {
    const { token, body } = options
    const headers = {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...options.headers,
    }
    const response = await fetch(origin + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const register = async (username: string) => {
    const reply = call<{ token: string; user: { id: string } }>('POST', '/api/auth/register', {
      body: { username, password },
    })
    const { token, user } = (await answered(reply)).body
    return { token, id: user.id }
  }
  const admin = await register('founder')
  const alice = await register('alice')
  const asAdmin = (method: string, path: string, body?: object) =>
    answered(call(method, path, { token: admin.token, ...(body && { body }) }))
  await answered(asAdmin('PATCH', '/api/settings/instance', { openidEnabled: true }))
  const open = opening.move()
  return {
    ...instance,
    origin,
    admin,
    alice,
    call,
    register,
    asAdmin,
    reset: (id: string) => asAdmin('POST', `/api/admin/users/${id}/reset-password`),
    async buildApplication(fields: object) {
      const body = { name: 'Wiki', type: 'confidential', ...fields }
      const reply = (await asAdmin('POST', '/api/admin/applications', body)).body
      return { id: (reply['application'] as ApplicationReply).id, secret: String(reply['clientSecret']) }
    },
    /** Logs in at an application that sends the browser here, as the page of the web app does: gives where it ends. */
    async allow(browser: TestBrowser, url: string, token: string) {
      const { url: address } = await browser.follow(url)
      const [, uid = ''] = /\/authorize#(.+)$/.exec(address) ?? []
      if (uid === '') throw new Error(`the browser was sent to ${address}`)
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      const place = `${origin}/oauth2/interaction/${uid}/decision`
      const decided = await browser.fetchOnce(place, { method: 'POST', headers, body: '{"decision":"allow"}' })
      return await browser.follow(((await decided.json()) as { url: string }).url)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
