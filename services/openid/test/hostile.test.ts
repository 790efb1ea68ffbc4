import { createHash } from 'node:crypto'
import { takeShared } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import { expect } from 'chai'
import * as oidc from 'openid-client'
import { policy } from '../src/policy.ts'
import { openBrowser, origin, redirectUri, request, startHarness, type Harness } from './harness.ts'

/** Contract: 3, Applications. */
describe('A hostile application, and an end at the worst moment', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness()))
  after(() => harness[Symbol.asyncDispose]())

  it('an application that asks for nothing gets nothing, twice, and locks the browser out of no other', async () => {
    const person = await harness.insertPerson()
    const [hostile, wiki] = [await harness.insertApplication(), await harness.insertApplication()]
    const browser = openBrowser(harness)
    for (const time of ['first', 'second']) {
      const { url } = await request(await harness.configure(hostile))
      for (const name of ['scope', 'nonce']) url.searchParams.delete(name)
      expect((await browser.allow(url, person)).searchParams.get('error'), time).to.equal('access_denied')
      expect([...browser.jar.keys()], time).to.not.include('gatehouse_openid')
    }
    const config = await harness.configure(wiki)
    const { url, checks } = await request(config)
    const tokens = await oidc.authorizationCodeGrant(config, await browser.allow(url, person), checks)
    expect(tokens.claims()?.sub).to.equal(person.id)
  })

  it('an account that is deleted after its decision: the application hears access_denied, no fault', async () => {
    const person = await harness.insertPerson()
    const browser = openBrowser(harness)
    const { url } = await request(await harness.configure(await harness.insertApplication()))
    const decided = await browser.decide(await browser.ask(url), person)
    await harness.orm.em.fork().nativeUpdate(User, { id: person.id }, { isDeleted: true })
    const back = await browser.visit(decided.body.url)
    expect([back.status, new URL(back.headers.get('location')!).searchParams.get('error')]).to.deep.equal([
      303,
      'access_denied',
    ])
  })

  it('form_post: the policy of the page lets its own script run, and no other', async () => {
    const { url } = await request(await harness.configure(await harness.insertApplication()))
    url.searchParams.set('response_mode', 'form_post')
    const browser = openBrowser(harness)
    const decided = await browser.decide(await browser.ask(url), await harness.insertPerson())
    const page = await browser.visit(decided.body.url)
    const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(await page.text()) ?? []
    expect(script).to.include('submit()')
    const hash = createHash('sha256').update(script).digest('base64')
    expect(page.headers.get('content-security-policy')).to.match(/default-src 'none'/)
    expect(/script-src ([^;]*)/.exec(page.headers.get('content-security-policy')!)?.[1]).to.equal(`'sha256-${hash}'`)
  })

  it('who returns to an address that any program on the device can take is asked each time. RFC 8252, 8.6', async () => {
    const native = ['com.example.app:/done', 'http://127.0.0.1/done']
    const redirectUris = [...native, redirectUri]
    const application = await harness.insertApplication({ type: 'public', redirectUris, skipConsent: true })
    const config = await harness.configure(application)
    const person = await harness.insertPerson()
    const isAsked = async (redirect: string) => {
      const browser = openBrowser(harness)
      const uid = await browser.ask((await request(config, { redirect })).url)
      const { body } = await browser.read(uid, person)
      await browser.decide(uid, person)
      return (body as unknown as { isConsentNeeded: boolean }).isConsentNeeded
    }
    for (const redirect of [...native, ...native]) expect(await isAsked(redirect), redirect).to.equal(true)
    expect(await isAsked(redirectUri)).to.equal(false)
  })

  it('a HEAD uses up nothing: the GET after it gets the code', async () => {
    const application = await harness.insertApplication()
    const config = await harness.configure(application)
    const { url, checks } = await request(config)
    const head = async (path: string) => {
      const { status, headers } = await harness.reach(origin + path, { method: 'HEAD' })
      return [status, headers.get('allow')]
    }
    const browser = openBrowser(harness)
    const uri = await oidc.buildAuthorizationUrlWithPAR(config, url.searchParams)
    expect(await head(uri.pathname + uri.search)).to.deep.equal([405, 'GET, POST'])
    const uid = await browser.ask(uri)
    const decided = await browser.decide(uid, await harness.insertPerson())
    const resume = new URL(decided.body.url, origin)
    expect((await browser.visit(resume.href, 0, 'HEAD')).status).to.equal(405)
    const back = await browser.visit(resume.href)
    const tokens = await oidc.authorizationCodeGrant(config, new URL(back.headers.get('location')!), checks)
    expect(tokens.access_token).to.be.a('string')
  })

  it('in the name of a public application few requests are stored, by network and by application', async () => {
    const { ofNetwork, ofApplication } = policy.storedRequests
    const [spa, other] = [
      await harness.insertApplication({ type: 'public', deviceGrant: true }),
      await harness.insertApplication({ type: 'public', deviceGrant: true }),
    ]
    const from = (network: number) => ({ 'x-test-address': `10.0.${network}.1` })
    const push = async ({ id }: { id: string }, network: number) => {
      const { url } = await request(await harness.configure(spa))
      url.searchParams.set('client_id', id)
      const init = { method: 'POST', body: url.searchParams, headers: from(network) }
      return await harness.reach(`${origin}/oauth2/par`, init)
    }
    const askDevice = async ({ id }: { id: string }, network: number) => {
      const body = new URLSearchParams({ client_id: id, scope: 'openid' })
      return await harness.reach(`${origin}/oauth2/device/auth`, { method: 'POST', body, headers: from(network) })
    }
    const take = async (limit: { name: string; requests: number; windowMs: number }, key: string, requests: number) => {
      const em = harness.orm.em.fork()
      for (let made = 0; made < requests; made += 1) await takeShared(em, { limit, key, now: harness.clock.now() })
    }
    await take(ofNetwork, '10.0.1.1', ofNetwork.requests - 2)
    expect([(await push(spa, 1)).status, (await askDevice(other, 1)).status]).to.deep.equal([201, 200])

    for (const refused of [await push(other, 1), await askDevice(spa, 1)]) {
      expect(refused.status).to.equal(429)
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
      expect(await refused.json()).to.deep.equal({ error: 'too_many_requests' })
    }
    expect((await push(spa, 2)).status, 'another network').to.equal(201)
    const server = await harness.configure(await harness.insertApplication({ deviceGrant: true }))
    expect((await oidc.initiateDeviceAuthorization(server, {})).device_code, 'a server').to.be.a('string')

    await take(ofApplication, spa.id, ofApplication.requests)
    expect([(await push(spa, 3)).status, (await push(other, 3)).status]).to.deep.equal([429, 201])
    harness.clock.advance(ofApplication.windowMs)
    expect((await askDevice(spa, 3)).status).to.equal(200)
  })

  it('stores no request that fits no address', async () => {
    const application = await harness.insertApplication({ type: 'public' })
    const push = async (length: number) => {
      const { url } = await request(await harness.configure(application))
      url.searchParams.set('state', 'x'.repeat(length))
      const pushed = await harness.reach(`${origin}/oauth2/par`, { method: 'POST', body: url.searchParams })
      return [pushed.status, ((await pushed.json()) as { error?: string }).error]
    }
    expect(await push(4_000)).to.deep.equal([201, undefined])
    expect(await push(50_000)).to.deep.equal([400, 'invalid_request'])
  })
})
