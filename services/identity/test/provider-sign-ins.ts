import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerHeader } from '@gatehouse/auth'
import type { ProviderPurpose } from '@gatehouse/contracts'
import { answered, signTestCaller, startIdentityProvider } from '@gatehouse/test-kit'
import type { TestCaller, TestIdentityProvider, TestResponse } from '@gatehouse/test-kit'
import { startTestIdentity, type TestIdentity } from './harness.ts'

type Entry = { id: string; of: TestIdentityProvider } & Record<string, unknown>

/** An identity service with these providers in its file. */
export async function startWithProviders(
  entries: readonly Entry[],
  options: Parameters<typeof startTestIdentity>[0] = {},
): Promise<TestIdentity> {
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'providers-')), (path) => rm(path, { recursive: true }))
  const providersFile = join(folder, 'providers.json')
  await writeFile(providersFile, fileOf(entries))
  const identity = opening.use(await startTestIdentity({ ...options, config: { ...options.config, providersFile } }))
  const open = opening.move()
  return { ...identity, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** The text of a file of providers. */
export const fileOf = (entries: readonly Entry[]): string =>
  JSON.stringify({
    providers: entries.map(({ of: { issuer, clientId, clientSecret }, ...given }) => ({
      name: given.id,
      issuer,
      clientId,
      clientSecret,
      ...given,
    })),
  })

export const startTestProvider = (...subs: string[]) =>
  startIdentityProvider({
    accounts: subs.map((sub) => ({
      sub,
      preferred_username: sub,
      name: `${sub} of elsewhere`,
      email: `${sub}@a.example`,
    })),
  })

type Fragment = Record<string, string>
type Start = { purpose?: ProviderPurpose; redirect?: unknown; as?: TestCaller; provider?: string }

/** One browser, with its cookie. */
export function openBrowser(identity: Pick<TestIdentity, 'url' | 'call' | 'clock' | 'logLines'>, provider: string) {
  const browser = {
    cookie: undefined as string | undefined,
    start: async ({
      as,
      provider: other = provider,
      purpose = 'login',
      ...body
    }: Start = {}): Promise<TestResponse> => {
      const headers = browser.cookie === undefined ? {} : { cookie: `other=1; ${browser.cookie}` }
      const path = `/api/auth/providers/${other}/start`
      const response = await identity.call('POST', path, { as, body: { purpose, ...body }, headers })
      browser.cookie = response.headers.get('set-cookie')?.split(';')[0] ?? browser.cookie
      return response
    },
    /** The address at the provider. */
    startedAt: async (start: Start = {}): Promise<string> => String((await answered(browser.start(start))).body['url']),
    /** What the page of the web app gets. `back`: where the provider sends the browser. */
    comeBack: async (back: URL): Promise<Fragment> => {
      const caller = signTestCaller('identity', { address: '127.0.0.1', account: null }, identity.clock.now())
      const headers = { [callerHeader]: caller, ...(browser.cookie !== undefined && { cookie: browser.cookie }) }
      const response = await fetch(identity.url + back.pathname + back.search, { headers, redirect: 'manual' })
      const [path, fragment = ''] = (response.headers.get('location') ?? '').split('#')
      if (response.status !== 303 || path !== '/sign-in')
        throw new Error(`${response.status}: ${await response.text()}`)
      return Object.fromEntries(new URLSearchParams(fragment))
    },
    /** The whole way: a ticket of `sub`. */
    signIn: async (of: TestIdentityProvider, sub: string, start: Start = {}): Promise<string> => {
      const fragment = await browser.comeBack(of.signIn(await browser.startedAt(start), sub))
      if (!fragment['ticket'])
        throw new Error(`no ticket: ${JSON.stringify([fragment, identity.logLines.findLast(({ reason }) => reason)])}`)
      return fragment['ticket']
    },
  }
  return browser
}

export const finish = (identity: Pick<TestIdentity, 'call'>, body: object, as?: TestCaller): Promise<TestResponse> =>
  identity.call('POST', '/api/auth/providers/finish', { as, body })
