import { callerHeader, hashSecret } from '@gatehouse/auth'
import { nextId } from '@gatehouse/database'
import { Application, InstanceSettings } from '@gatehouse/domain'
import { parseCidrs } from '@gatehouse/outbound'
import { createServiceClient, insertUser, openTestResources, signTestCaller, testCallerKeys } from '@gatehouse/test-kit'
import type { TestCaller } from '@gatehouse/test-kit'
import { manualTimer, movableClock } from '@gatehouse/test-kit/time'
import * as oidc from 'openid-client'
import { startOpenid } from '../src/service.ts'

export const origin = 'https://chat.example'
export const redirectUri = 'https://wiki.example/callback'
export const secret = 'a secret of the wiki, of 43 characters and more'

export type Harness = Awaited<ReturnType<typeof startHarness>>
export type TestApplication = { id: string; type: 'confidential' | 'public' }

/** Two replicas over one database, applications by `openid-client`, people by a browser with cookies. The library has the real time. */
export async function startHarness() {
  await using opening = new AsyncDisposableStack()
  const clock = movableClock(Date.now())
  const test = opening.use(await openTestResources({ clock, service: 'openid' }))
  const { ownerOrm: orm, resources } = test
  const config = {
    host: '127.0.0.1',
    port: 0,
    drainMs: 1_000,
    callerKeys: testCallerKeys,
    encryptionSecret: 'a secret that encrypts in the tests of openid',
    publicAddress: { origin, domain: 'chat.example' },
    reach: { allowPrivate: parseCidrs('loopback'), resolve: {} },
  }
  const start = async () => opening.use(await startOpenid(config, resources, { timer: manualTimer() }))
  const replicas = [await start(), await start()] as const
  await orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, { openidEnabled: true })
  const nobody = (address: string) => signTestCaller('openid', { address, account: null }, clock.now())

  /** As the gateway would forward it. */
  const reach = async (url: string, init: RequestInit = {}, replica: 0 | 1 = 0): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set(callerHeader, nobody(headers.get('x-test-address') ?? '127.0.0.1'))
    return await fetch(url.replace(origin, replicas[replica].url), { ...init, headers, redirect: 'manual' })
  }
  const configure = async (application: TestApplication, replica: 0 | 1 = 0, given?: oidc.ClientAuth) => {
    const customFetch: oidc.CustomFetch = (url, { method, headers, body }) =>
      reach(url, { method, headers, body: (body ?? null) as BodyInit | null }, replica)
    const authentication = given ?? (application.type === 'public' ? oidc.None() : oidc.ClientSecretBasic(secret))
    const options = { [oidc.customFetch]: customFetch }
    return await oidc.discovery(new URL(origin), application.id, undefined, authentication, options)
  }
  const open = opening.move()
  return {
    orm,
    clock,
    replicas,
    reach,
    configure,
    lines: test.lines,
    resources,
    config,
    calls: createServiceClient({ name: 'openid', url: replicas[0].url, clock }),
    insertPerson: (overrides = {}) => insertUser({ orm }, overrides),
    /** Gives the session of a login. `at` in seconds since the epoch. */
    async insertLogin({ id, username }: TestCaller, at: number): Promise<TestCaller> {
      const sql = `insert into sign_ins (user_id, signed_in_at, method, network) values (?, to_timestamp(?), 'password', 'x')`
      await orm.em.fork().execute(sql, [id, at])
      return { id, username, tokenIssuedAt: at }
    },
    async insertApplication(overrides: Partial<Application> = {}): Promise<TestApplication> {
      const em = orm.em.fork()
      const id = await nextId(em)
      const type = overrides.type ?? 'confidential'
      await em.insert(Application, {
        id,
        name: 'Wiki',
        type,
        redirectUris: [redirectUri],
        postLogoutRedirectUris: ['https://wiki.example/'],
        skipConsent: false,
        accessTokens: 'opaque',
        deviceGrant: false,
        createdAt: new Date(clock.now()),
        ...(type === 'confidential' && { secretHash: hashSecret(secret) }),
        ...overrides,
      })
      return { id, type }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** Cookies by their path, and what the pages of the web app do. */
export function openBrowser(harness: Harness) {
  const jar = new Map<string, { value: string; path: string }>()
  const cookieFor = (path: string) =>
    [...jar]
      .filter(([, one]) => path.startsWith(one.path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')

  const visit = (url: string, replica: 0 | 1 = 0, method = 'GET') => go(url, { method }, replica)
  /** A form that a page of an application posts. */
  const post = (url: string, form: URLSearchParams) => go(url, { method: 'POST', body: form })
  async function go(url: string, init: RequestInit, replica: 0 | 1 = 0): Promise<Response> {
    const headers = { cookie: cookieFor(new URL(url).pathname), accept: 'text/html' }
    const response = await harness.reach(url, { ...init, headers }, replica)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      const [, path = '/'] = /path=([^;]*)/i.exec(line) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, { value, path })
    }
    return response
  }
  /** Of the page to which the request leads. */
  const ask = async (url: URL, replica: 0 | 1 = 0) => arrive(await visit(url.href, replica), replica)
  async function arrive(asked: Response, replica: 0 | 1 = 0): Promise<string> {
    const location = asked.headers.get('location') ?? ''
    if (!location.startsWith('/oauth2/interaction/'))
      throw new Error(`${asked.status} ${location} ${await asked.text()}`)
    const page = await visit(new URL(location, origin).href, replica)
    return (page.headers.get('location') ?? '').replace('/authorize#', '')
  }
  const path = (uid: string, part: string) => `/oauth2/interaction/${uid}/${part}`
  const cookie = (uid: string) => ({ headers: { cookie: cookieFor(path(uid, '')) } })
  const read = (uid: string, as: TestCaller) => harness.calls('GET', path(uid, 'details'), { as, ...cookie(uid) })
  const decide = (uid: string, as: TestCaller, decision = 'allow') =>
    harness.calls<{ url: string; code?: string }>('POST', path(uid, 'decision'), {
      as,
      body: { decision },
      ...cookie(uid),
    })
  /** From the request to the address of the application with the answer. */
  const allow = async (url: URL, as: TestCaller, decision = 'allow') => finish(await ask(url), as, decision)
  async function finish(uid: string, as: TestCaller, decision = 'allow'): Promise<URL> {
    const decided = await decide(uid, as, decision)
    const resumed = await visit(decided.body.url)
    return new URL(resumed.headers.get('location') ?? `${origin}/none?${resumed.status}`)
  }
  return { jar, visit, post, ask, arrive, read, decide, allow, finish }
}

type Asked = { scope?: string; parameters?: Record<string, string>; redirect?: string }

/** The request of an application, with what it keeps of it. */
export async function request(
  config: oidc.Configuration,
  { scope = 'openid profile', parameters, redirect }: Asked = {},
) {
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const expectedState = oidc.randomState()
  const expectedNonce = oidc.randomNonce()
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirect ?? redirectUri,
    scope,
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...parameters,
  })
  return { url, checks: { pkceCodeVerifier, expectedState, expectedNonce } }
}

/** A person logs in at an application. */
export async function logIn(harness: Harness, application: TestApplication, person: TestCaller, asked: Asked = {}) {
  const config = await harness.configure(application)
  const { url, checks } = await request(config, asked)
  const back = await openBrowser(harness).allow(url, person)
  return { config, tokens: await oidc.authorizationCodeGrant(config, back, checks), back, checks }
}

export const offline = { scope: 'openid profile offline_access', parameters: { prompt: 'consent' } }
