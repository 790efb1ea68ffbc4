import { OpenidRow } from '@gatehouse/domain'
import { interruptEach, openFaultyWrites, type FaultyWrites } from '@gatehouse/test-kit'
import { expect } from 'chai'
import {
  logIn,
  offline,
  openBrowser,
  origin,
  redirectUri,
  request,
  secret,
  startHarness,
  type Harness,
} from './harness.ts'

/** Contract: 8, PostgreSQL. */
describe('Where PostgreSQL ends a connection, or its disk is full, while tokens are given', () => {
  let harness: Harness
  let writes: FaultyWrites
  let application: Awaited<ReturnType<Harness['insertApplication']>>
  before(async () => {
    harness = await startHarness()
    writes = await openFaultyWrites(harness.orm)
    application = await harness.insertApplication()
  })
  after(() => harness[Symbol.asyncDispose]())

  const post = async (path: string, form: Record<string, string>) => {
    const authorization = `Basic ${Buffer.from(`${application.id}:${secret}`).toString('base64')}`
    const body = new URLSearchParams(form)
    const response = await harness.reach(`${origin}/oauth2/${path}`, {
      method: 'POST',
      body,
      headers: { authorization },
    })
    const text = await response.text()
    return { status: response.status, answer: text === '' ? {} : (JSON.parse(text) as { refresh_token?: string }) }
  }
  const token = async (form: Record<string, string>) => (await post('token', form)).status
  async function expectWhole(form: Record<string, string>): Promise<void> {
    const statuses = await interruptEach(writes, { attempt: () => token(form), read: () => writes.read() })
    // The use, what is stored, and the first one twice.
    expect(statuses.length).to.be.greaterThan(3)
    expect(statuses.at(-1)).to.equal(200)
    expect(await token(form)).to.equal(400)
  }

  it('for a code, it is unused, and gives them right afterwards', async () => {
    const { url, checks } = await request(await harness.configure(application), offline)
    const back = await openBrowser(harness).allow(url, await harness.insertPerson())
    const code = back.searchParams.get('code')!
    const ofRequest = { redirect_uri: redirectUri, code_verifier: checks.pkceCodeVerifier }
    await expectWhole({ grant_type: 'authorization_code', code, ...ofRequest })
  })

  it('for a refresh token, it is unused, and gives them right afterwards', async () => {
    const { tokens } = await logIn(harness, application, await harness.insertPerson(), offline)
    await expectWhole({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token! })
  })

  it('for the end of what a person allowed, it is 503, and then right', async () => {
    const person = await harness.insertPerson()
    const { tokens } = await logIn(harness, application, person, offline)
    const url = `${origin}/oauth2/end-session?id_token_hint=${tokens.id_token!}`
    const attempt = async () => (await openBrowser(harness).visit(url)).status
    // The library stores what the browser has of the logout besides.
    const read = () => harness.orm.em.fork().count(OpenidRow, { accountId: person.id })
    const statuses = await interruptEach(writes, { attempt, read })
    expect(statuses.length).to.be.greaterThan(2)
    expect(statuses.at(-1)).to.equal(303)
    expect(await token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token! })).to.equal(400)
  })

  for (const [what, path, field, last] of [
    ['a refresh token that was used before', 'token', 'refresh_token', 400],
    ['the revocation of a refresh token that was used before', 'revoke', 'token', 200],
  ] as const) {
    it(`for ${what}, it is 503, and then the grant ends`, async () => {
      const person = await harness.insertPerson()
      const { tokens } = await logIn(harness, application, person, offline)
      const used = tokens.refresh_token!
      const refreshed = await post('token', { grant_type: 'refresh_token', refresh_token: used })
      const attempt = async () => (await post(path, { grant_type: 'refresh_token', [field]: used })).status
      const read = () => harness.orm.em.fork().count(OpenidRow, { accountId: person.id })
      const statuses = await interruptEach(writes, { attempt, read })
      expect(statuses.length).to.be.greaterThan(2)
      expect(statuses.at(-1)).to.equal(last)
      expect(await token({ grant_type: 'refresh_token', refresh_token: refreshed.answer.refresh_token! })).to.equal(400)
      expect(await read()).to.equal(0)
    })
  }
})
