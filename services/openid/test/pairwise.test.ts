import { createEncryptionKey } from '@gatehouse/auth'
import { decodeJwt } from 'jose'
import { expect } from 'chai'
import * as oidc from 'openid-client'
import { rotateKeys } from '@gatehouse/openid-keys'
import { logIn, offline, openBrowser, origin, request, startHarness, type Harness } from './harness.ts'

/** OpenID Connect Core, 8; Contract: 3, Applications. */
describe('An application with pairwise subjects', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness()))
  after(() => harness[Symbol.asyncDispose]())

  const insert = (sector: string | null, more = {}) => harness.insertApplication({ sector, ...more })
  const subjectAt = async (application: Awaited<ReturnType<typeof insert>>, person: { id: string; username: string }) =>
    (await logIn(harness, application, person)).tokens.claims()!.sub

  it('knows the person by the same subject everywhere, which is no id of the account', async () => {
    const person = await harness.insertPerson()
    const application = await insert('wiki.example')
    const { config, tokens } = await logIn(harness, application, person, offline)
    const { sub } = tokens.claims()!
    expect(sub).to.match(/^[\w-]{22}$/)
    expect(sub).to.equal(await harness.replicas[1].deps.subjects.of('wiki.example', person.id))
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
    expect(refreshed.claims()?.sub).to.equal(sub)
    expect(await oidc.fetchUserInfo(config, refreshed.access_token, sub)).to.include({ sub })
    for (const token of [refreshed.access_token, refreshed.refresh_token!])
      expect(await oidc.tokenIntrospection(config, token)).to.include({ active: true, sub })
    const asked = { active: true, sub }
    const server = await harness.configure(await harness.insertApplication(), 1)
    expect(await oidc.tokenIntrospection(server, refreshed.access_token), 'by a server').to.include(asked)

    const jwt = await logIn(harness, await insert('wiki.example', { accessTokens: 'jwt' }), person)
    expect(decodeJwt(jwt.tokens.access_token).sub).to.equal(sub)
  })

  it('shares its subjects with its own host alone, also after the keys are rotated', async () => {
    const [ada, bob] = [await harness.insertPerson(), await harness.insertPerson()]
    const [wiki, shop] = [await insert('wiki.example'), await insert('shop.example')]
    const sub = await subjectAt(wiki, ada)
    expect(await subjectAt(await insert('wiki.example'), ada)).to.equal(sub)
    const others = [await subjectAt(shop, ada), await subjectAt(wiki, bob), await subjectAt(await insert(null), ada)]
    expect(new Set([sub, ...others]).size).to.equal(4)
    expect(others[2]).to.equal(ada.id)

    const { orm, clock, config } = harness
    await rotateKeys({ orm, clock, encryptionKey: createEncryptionKey(config.encryptionSecret) })
    expect(await subjectAt(wiki, ada)).to.equal(sub)
  })

  it('may bring an ID token: of who is there, or of who logs out', async () => {
    const [person, other] = [await harness.insertPerson(), await harness.insertPerson()]
    const application = await insert('wiki.example')
    const { config, tokens } = await logIn(harness, application, person)
    const prompt = async (as: typeof person) => {
      const browser = openBrowser(harness)
      const { url } = await request(config, { parameters: { id_token_hint: tokens.id_token! } })
      return (await browser.read(await browser.ask(url), as)).body['prompt']
    }
    expect([await prompt(person), await prompt(other)]).to.deep.equal(['consent', 'login'])

    expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.include({ active: true })
    await harness.reach(`${origin}/oauth2/end-session?id_token_hint=${tokens.id_token!}`)
    expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.deep.equal({ active: false })
  })
})
