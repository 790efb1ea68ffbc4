import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { LinkedIdentity, ProviderFlow, ProviderTicket, User } from '@gatehouse/domain'
import { answered, openFaultyWrites, type TestIdentityProvider, type TestResponse } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { generateKeyPair, exportJWK, SignJWT, type JWTPayload } from 'jose'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { finish, openBrowser, startTestProvider, startWithProviders } from './provider-sign-ins.ts'
import { testPassword } from './quick-hasher.ts'

const minute = 60_000

/** Contract: 3, Identity providers; RFC 9700. */
describe('A hostile sign-in', () => {
  let own: TestIdentityProvider
  let other: TestIdentityProvider
  let identity: TestIdentity
  before(async () => {
    own = await startTestProvider()
    other = await startTestProvider()
    identity = await startWithProviders([
      { id: 'own', of: own },
      { id: 'other', of: other },
    ])
  })
  after(async () => {
    await identity[Symbol.asyncDispose]()
    await own.close()
    await other.close()
  })
  afterEach(() => {
    own.depart = {}
    other.depart = {}
  })

  let count = 0
  const fresh = (name: string) => `${name}_${(count += 1)}`
  const refused = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
  const open = () => openBrowser(identity, 'own')
  const come = async (sub: string | null = fresh('sub')) => {
    const browser = open()
    return await browser.comeBack(own.signIn(await browser.startedAt(), sub))
  }
  const countTickets = async () => await identity.deps.orm.em.fork().count(ProviderTicket)

  /** What no departure gives, so that a departure is what fails. */
  const expectRight = async () => expect(await come()).to.include.keys('ticket', 'purpose', 'provider', 'state')

  describe('in another browser', () => {
    it('has no cookie, another one, or that of another instance: the state stays for the right one', async () => {
      const [victim, attacker] = [open(), open()]
      const back = own.signIn(await attacker.startedAt(), fresh('sub'))
      expect(await victim.comeBack(back)).to.include({ error: 'expired' })
      await victim.startedAt()
      expect(await victim.comeBack(back)).to.include({ error: 'expired' })
      victim.cookie = '__Host-gatehouse-flow=short'
      expect(await victim.comeBack(back)).to.include({ error: 'expired' })

      expect(await attacker.comeBack(back)).to.include.keys('ticket')
    })

    it('swaps a code into the flow of a victim: its nonce and its verifier are of another flow', async () => {
      const [victim, attacker] = [open(), open()]
      const stolen = own.signIn(await attacker.startedAt(), fresh('sub')).searchParams.get('code') ?? ''
      const back = own.signIn(await victim.startedAt(), fresh('sub'))
      back.searchParams.set('code', stolen)

      expect(await victim.comeBack(back)).to.include({ error: 'provider_error' })
    })
  })

  it('uses a state once, for ten minutes, at its own provider, and tells it to the page', async () => {
    const browser = open()
    const back = own.signIn(await browser.startedAt(), fresh('sub'))
    const elsewhere = new URL(back.href.replace('/own/', '/other/'))
    expect(await browser.comeBack(elsewhere)).to.include({ error: 'expired' })

    expect(await browser.comeBack(back)).to.include({ state: back.searchParams.get('state') })
    expect(await browser.comeBack(back)).to.include({ error: 'expired' })
    const late = own.signIn(await browser.startedAt(), fresh('sub'))
    identity.clock.advance(10 * minute)
    expect(await browser.comeBack(late)).to.include({ error: 'expired' })
    expect(await browser.comeBack(new URL(`${late.origin}${late.pathname}?state=%ff&state=`))).to.include({
      error: 'expired',
    })
  })

  it('in two tabs of one browser works in both', async () => {
    const browser = open()
    const addresses = [await browser.startedAt(), await browser.startedAt()]

    for (const url of addresses) {
      expect(await browser.comeBack(own.signIn(url, fresh('sub')))).to.include.keys('ticket')
    }
  })

  it('that the person cancels, or that the provider refuses, says so', async () => {
    expect(await come(null)).to.include({ error: 'cancelled' })
    own.depart.callback = (url) => {
      url.searchParams.delete('code')
      url.searchParams.set('error', 'server_error')
      url.searchParams.set('error_description', '<script>')
      return url
    }
    expect(await come()).to.include({ error: 'provider_error' })
  })

  it('while PostgreSQL is away says that this instance is', async () => {
    const writes = await openFaultyWrites(identity.deps.orm)
    // The use of the state, and the ticket.
    for (const count of [1, 2]) {
      const browser = open()
      const back = own.signIn(await browser.startedAt(), fresh('sub'))
      const { value, hasFailed } = await writes.failDuring(() => browser.comeBack(back), { count, fault: '57P01' })
      expect([hasFailed, value['error']]).to.deep.equal([true, 'unavailable'])
    }
    await expectRight()
  })

  it('mixes providers up: the answer says which one it is of', async () => {
    own.depart.callback = (url) => {
      url.searchParams.set('iss', other.issuer)
      return url
    }
    expect(await come()).to.include({ error: 'provider_error' })
    own.depart.callback = (url) => {
      url.searchParams.delete('iss')
      return url
    }
    expect(await come()).to.include({ error: 'provider_error' })
    expect(other.asked).not.to.include('/token')
  })

  const claimFaults: Record<string, (claims: JWTPayload) => JWTPayload> = {
    'another issuer': (claims) => ({ ...claims, iss: 'https://evil.example' }),
    'another audience': (claims) => ({ ...claims, aud: 'somebody' }),
    'several audiences without azp': (claims) => ({ ...claims, aud: ['gatehouse', 'somebody'] }),
    'an azp of another client': (claims) => ({ ...claims, azp: 'somebody' }),
    'an end in the past': (claims) => ({ ...claims, exp: Number(claims.iat) - 3_600 }),
    'another nonce': (claims) => ({ ...claims, nonce: 'another' }),
    'no nonce': ({ nonce: _, ...claims }) => claims,
    'no subject': ({ sub: _, ...claims }) => claims,
    'an empty subject': (claims) => ({ ...claims, sub: '' }),
    'a subject with NUL': (claims) => ({ ...claims, sub: 'a\0b' }),
    'a subject with a lone surrogate': (claims) => ({ ...claims, sub: 'a\ud800' }),
    'a subject of 1,000 characters': (claims) => ({ ...claims, sub: 'a'.repeat(1_000) }),
    'a subject that is a number': (claims) => ({ ...claims, sub: 7 as never }),
    'claims of 10 MB': (claims) => ({ ...claims, name: 'a'.repeat(10 * 1024 * 1024) }),
  }
  for (const [what, depart] of Object.entries(claimFaults)) {
    it(`with an ID token of ${what} gives no ticket`, async () => {
      await expectRight()
      const tickets = await countTickets()
      own.depart.claims = depart

      expect(await come()).to.include({ error: 'provider_error' })
      expect(await countTickets()).to.equal(tickets)
    })
  }

  it('with an ID token that its keys did not sign gives no ticket', async () => {
    const { privateKey } = await generateKeyPair('RS256')
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const forgeries: ((token: string) => string | Promise<string>)[] = [
      (token) => `${encode({ alg: 'none' })}.${token.split('.')[1]}.`,
      (token) => token.slice(0, -8) + 'AAAAAAAA',
      async (token) =>
        await new SignJWT(JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as JWTPayload)
          .setProtectedHeader({ alg: 'RS256' })
          .sign(privateKey),
      async (token) =>
        await new SignJWT(JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as JWTPayload)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(Buffer.from(own.clientSecret)),
    ]
    await expectRight()
    for (const forge of forgeries) {
      const real = await own.sign({})
      let forged = ''
      own.depart.claims = (claims) => claims
      own.depart.tokens = (answer) => ({ ...answer, id_token: forged })
      const browser = open()
      const url = await browser.startedAt()
      const nonce = new URL(url).searchParams.get('nonce')!
      const now = Math.floor(Date.now() / 1_000)
      const claims = { iss: own.issuer, aud: own.clientId, sub: fresh('sub'), iat: now, exp: now + 60, nonce }
      forged = await forge(await own.sign(claims))
      expect(real).to.be.a('string')
      expect(await browser.comeBack(own.signIn(url, 'x'))).to.include({ error: 'provider_error' })
      // Signed as it should be, the same claims are taken.
      const again = await browser.startedAt()
      forged = await own.sign({ ...claims, nonce: new URL(again).searchParams.get('nonce')! })
      expect(await browser.comeBack(own.signIn(again, 'x'))).to.include.keys('ticket')
    }
  })

  it('with a time of authentication in milliseconds, or far ahead, confirms nothing', async () => {
    const [user, sub] = [await buildUser(identity), fresh('sub')]
    const linking = await open().signIn(own, sub, { purpose: 'link', as: user })
    await answered(finish(identity, { ticket: linking, password: testPassword }, user))
    const confirm = async (factor: number) => {
      const time = Math.floor(identity.clock.now() / 1_000) * factor
      own.depart.claims = (claims) => ({ ...claims, auth_time: time })
      const ticket = await open().signIn(own, sub, { purpose: 'confirm', as: user })
      return refused(await identity.call('POST', '/api/users/@me/passkeys/options', { as: user, body: { ticket } }))
    }

    const answers = [await confirm(1), await confirm(1_000), await confirm(1e290)]

    const notFresh = [403, 'fresh_sign_in_required']
    expect(answers).to.deep.equal([[200, null], notFresh, notFresh])
  })

  it('by a user info of another subject tells nothing of it', async () => {
    own.depart.userinfo = () => ({ sub: 'another', preferred_username: 'root', name: 'Root' })
    const { ticket } = await come()

    const { body } = await finish(identity, { ticket })

    expect(body['proposal']).to.deep.equal({ username: null, displayName: null })
  })

  it('with names of any kind only proposes what could be a name', async () => {
    const proposals: [unknown, unknown, object][] = [
      ['Zoë.Müller@Mail.example', ' Zo\u202eë ', { username: 'zoe_muller', displayName: 'Zoë' }],
      ['../../x', 'n'.repeat(500), { username: null, displayName: 'n'.repeat(32) }],
      [{ toString: 'x' }, ['a'], { username: null, displayName: null }],
      ['管理者', '管理者', { username: null, displayName: '管理者' }],
    ]
    for (const [preferred_username, name, expected] of proposals) {
      own.depart.userinfo = (claims) => ({ ...claims, preferred_username, name })
      const { ticket } = await come()
      expect((await finish(identity, { ticket })).body['proposal']).to.deep.equal(expected)
    }
  })

  describe('by what the provider says of itself', () => {
    const startAt = async (depart: (metadata: Record<string, unknown>) => unknown) => {
      await using at = await startWithProviders([{ id: 'own', of: own }])
      own.depart.metadata = depart
      return refused(await openBrowser(at, 'own').start())
    }
    const unusable = [503, 'provider_unavailable']

    it('is refused for another issuer, for addresses that run code or lead elsewhere, and for nonsense', async () => {
      expect(await startAt((metadata) => metadata)).to.deep.equal([200, null])
      const faults: ((metadata: Record<string, unknown>) => unknown)[] = [
        (metadata) => ({ ...metadata, issuer: other.issuer }),
        (metadata) => ({ ...metadata, issuer: `${own.issuer}/` }),
        (metadata) => ({ ...metadata, authorization_endpoint: 'javascript:alert(1)' }),
        (metadata) => ({ ...metadata, authorization_endpoint: undefined }),
        (metadata) => ({ ...metadata, token_endpoint: 'file:///etc/passwd' }),
        (metadata) => ({ ...metadata, jwks_uri: 7 }),
        () => [],
        () => ({ filler: 'a'.repeat(2 * 1024 * 1024) }),
      ]
      for (const fault of faults) expect(await startAt(fault), String(fault)).to.deep.equal(unusable)
    })

    it('reaches no private address that the operator has not allowed, and follows no redirect', async () => {
      await using inner = await openServer()
      own.depart.metadata = (metadata) => ({ ...metadata, token_endpoint: 'http://10.0.0.1/token' })
      await using at = await startWithProviders([{ id: 'own', of: own }])
      const browser = openBrowser(at, 'own')
      const back = own.signIn(await browser.startedAt(), fresh('sub'))
      expect(await browser.comeBack(back)).to.include({ error: 'provider_error' })
      for (const path of ['/token', '/keys', '/userinfo']) {
        own.depart.metadata = (metadata) => metadata
        own.depart.answer = (request, response) => {
          if (request.url !== path) return false
          response.writeHead(307, { location: inner.url }).end()
          return true
        }
        await using redirected = await startWithProviders([{ id: 'own', of: own }])
        const tab = openBrowser(redirected, 'own')
        await tab.comeBack(own.signIn(await tab.startedAt(), fresh('sub')))
      }
      expect(inner.requests).to.equal(0)
      const { status } = await fetch(inner.url)
      expect([status, inner.requests]).to.deep.equal([200, 1])
    })

    it('with 10,000 keys, or none that fits, gives no ticket; a new key is found within a minute', async () => {
      const { publicKey } = await generateKeyPair('RS256')
      const foreign = { ...(await exportJWK(publicKey)), kid: 'foreign', alg: 'RS256' }
      const sets: ((set: Record<string, unknown>) => unknown)[] = [
        ({ keys }) => ({ keys: [...Array<object>(10_000).fill({ kty: 'x' }), ...(keys as object[])] }),
        () => ({ keys: [foreign] }),
        () => ({ keys: [] }),
        () => ({}),
        () => 'nothing',
      ]
      for (const set of sets) {
        await using at = await startWithProviders([{ id: 'own', of: own }])
        const signIn = async () => {
          const browser = openBrowser(at, 'own')
          return await browser.comeBack(own.signIn(await browser.startedAt(), fresh('sub')))
        }
        own.depart.keys = set
        expect(await signIn(), String(set)).to.include({ error: 'provider_error' })
        expect(at.logLines.findLast(({ reason }) => reason)?.['reason']).to.match(
          /^the provider (has too many|publishes no) keys$|^JWKSNoMatchingKey|^JSON Web Key Set/,
        )
        delete own.depart.keys
        expect(await signIn(), 'asked once a minute').to.include({ error: 'provider_error' })
        at.clock.advance(minute)
        expect(await signIn()).to.include.keys('ticket')
      }
    })

    it('is asked once a minute while it cannot be reached, and used again when it can', async () => {
      await using at = await startWithProviders([{ id: 'own', of: own }])
      own.depart.answer = (_, response) => (response.writeHead(500).end(), true)
      const before = own.asked.length
      const browser = openBrowser(at, 'own')
      const first = await browser.start()
      expect([...refused(first), first.headers.get('retry-after')]).to.deep.equal([...unusable, '60'])
      expect(refused(await browser.start())).to.deep.equal(unusable)
      expect(own.asked.length - before).to.equal(1)

      delete own.depart.answer
      at.clock.advance(minute)
      expect((await browser.start()).status).to.equal(200)
    })
  })

  it('hangs for ten seconds at most', async function () {
    this.timeout(40_000)
    await expectRight()
    own.depart.answer = (request) => request.url === '/token'
    const started = performance.now()

    expect(await come()).to.include({ error: 'provider_error' })

    expect(performance.now() - started).to.be.within(9_000, 15_000)
  })

  it('leaves nothing of its tokens, its code and its secret in the log', async () => {
    let tokens: Record<string, unknown> = {}
    own.depart.tokens = (answer) => (tokens = answer)
    const browser = open()
    const back = own.signIn(await browser.startedAt(), fresh('sub'))
    const { ticket = '' } = await browser.comeBack(back)
    own.depart.tokens = () => ({ ...tokens, id_token: `${String(tokens['id_token'])}x` })
    await come()
    const secrets = [
      tokens['access_token'],
      tokens['id_token'],
      own.clientSecret,
      ticket,
      back.searchParams.get('code'),
    ]
    secrets.push(back.searchParams.get('state'), browser.cookie?.split('=')[1])

    const log = JSON.stringify(identity.logLines)

    expect(log).to.include('sign-in at a provider failed')
    expect(secrets.filter((secret) => !secret || log.includes(String(secret)))).to.deep.equal([])
  })

  describe('with a ticket', () => {
    it('counts once, for two minutes, for its purpose and its account', async () => {
      const { ticket } = await come()
      const username = fresh('person')
      const user = await buildUser(identity)
      expect(refused(await finish(identity, { ticket, password: testPassword }, user))).to.deep.equal([
        403,
        'ticket_refused',
      ])
      expect((await finish(identity, { ticket, username })).status).to.equal(201)
      expect(refused(await finish(identity, { ticket }))).to.deep.equal([401, 'ticket_invalid'])
      for (const wrong of ['', 'x', `${ticket}x`, '\0']) {
        expect((await finish(identity, { ticket: wrong })).status).to.be.oneOf([400, 401])
      }
      const { ticket: late } = await come()
      identity.clock.advance(2 * minute)
      expect(refused(await finish(identity, { ticket: late, username: fresh('person') }))).to.deep.equal([
        401,
        'ticket_invalid',
      ])
    })

    it('is stored as its hash alone', async () => {
      const { ticket = '', state = '' } = await come()
      const em = identity.deps.orm.em.fork()
      const rows = JSON.stringify([await em.find(ProviderTicket, {}), await em.find(ProviderFlow, {})])

      expect(rows).to.include('"subject"')
      expect([rows.includes(ticket), rows.includes(state)]).to.deep.equal([false, false])
    })

    it('raced by sixteen registers one account', async () => {
      const sub = fresh('sub')
      const { ticket } = await come(sub)
      const racing = Array.from({ length: 16 }, () => finish(identity, { ticket, username: fresh('racer') }))

      const statuses = (await Promise.all(racing)).map(({ status }) => status).toSorted()

      expect(statuses.filter((status) => status === 201)).to.deep.equal([201])
      expect(statuses.filter((status) => status === 500)).to.deep.equal([])
      const em = identity.deps.orm.em.fork()
      expect(await em.count(LinkedIdentity, { subject: sub })).to.equal(1)
      expect(await em.count(User, { username: { $like: 'racer%' } })).to.equal(1)
    })

    it('raced by another one of the same identity: one registers, the other logs in', async () => {
      const sub = fresh('sub')
      const tickets = [await come(sub), await come(sub)]
      const racing = tickets.map(({ ticket }) => finish(identity, { ticket, username: fresh('twin') }))

      const responses = await Promise.all(racing)

      expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([200, 201])
      expect(new Set(responses.map(({ body }) => (body['user'] as User).id)).size).to.equal(1)
    })

    it('raced to two accounts is linked to one', async () => {
      const sub = fresh('sub')
      const users = [await buildUser(identity), await buildUser(identity)]
      const linking = users.map(async (user) => {
        const ticket = await open().signIn(own, sub, { purpose: 'link', as: user })
        return () => finish(identity, { ticket, password: testPassword }, user)
      })
      const links = await Promise.all(linking)

      const statuses = (await Promise.all(links.map(async (link) => await link()))).map(({ status }) => status)

      expect(statuses.toSorted()).to.deep.equal([200, 409])
    })

    it('raced by a registration and a link belongs to one account, and the loser is told', async () => {
      for (const isLinkFirst of [true, false]) {
        const sub = fresh('sub')
        const user = await buildUser(identity)
        const { ticket } = await come(sub)
        const linking = await open().signIn(own, sub, { purpose: 'link', as: user })
        const link = () => finish(identity, { ticket: linking, password: testPassword }, user)
        const register = () => finish(identity, { ticket, username: fresh('rival') })

        const racing = isLinkFirst ? [link(), register()] : [register(), link()]
        const [linked, registered] = isLinkFirst ? await Promise.all(racing) : (await Promise.all(racing)).reverse()

        const holders = await identity.deps.orm.em.fork().find(LinkedIdentity, { subject: sub })
        const holder = (registered!.body['user'] as User).id
        expect(holders.map(({ userId }) => userId)).to.deep.equal([holder])
        const [expected, code] = holder === user.id ? [[200, 200], undefined] : [[409, 201], 'identity_held']
        expect([linked!.status, registered!.status]).to.deep.equal(expected)
        expect(linked!.body['code']).to.equal(code)
      }
    })

    it('raced by the removal of its identity logs in before, or opens nothing: no session comes after it', async () => {
      for (const isRemovalFirst of [true, false]) {
        const sub = fresh('sub')
        const user = await buildUser(identity)
        const linking = await open().signIn(own, sub, { purpose: 'link', as: user })
        const { body } = await answered(finish(identity, { ticket: linking, password: testPassword }, user))
        const { id } = body['identity'] as { id: string }
        const { ticket } = await come(sub)
        const remove = () =>
          identity.call('DELETE', `/api/users/@me/identities/${id}`, { as: user, body: { password: testPassword } })
        const logIn = () => finish(identity, { ticket })

        const racing = isRemovalFirst ? [remove(), logIn()] : [logIn(), remove()]
        const [removed, loggedIn] = isRemovalFirst ? await Promise.all(racing) : (await Promise.all(racing)).reverse()

        expect(removed!.status).to.equal(200)
        expect(refused(loggedIn!)).to.be.deep.oneOf([
          [200, null],
          [401, 'ticket_invalid'],
          [409, 'username_required'],
        ])
        const { ticket: later } = await come(sub)
        expect(refused(await finish(identity, { ticket: later }))).to.deep.equal([409, 'username_required'])
      }
    })
  })

  it('leads nowhere but to a path of the instance', async () => {
    const browser = open()
    const targets = [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/x/..//evil.example',
      '\t/x',
      '/%5cevil',
      7,
    ]
    for (const redirect of targets) expect((await browser.start({ redirect })).status, String(redirect)).to.equal(400)

    const url = String((await answered(browser.start({ redirect: '/settings?tab=security#x' }))).body['url'])
    expect(await browser.comeBack(own.signIn(url, fresh('sub')))).to.include({ redirect: '/settings?tab=security#x' })
  })

  it('at a provider that the file no longer names goes nowhere', async () => {
    const browser = open()
    expect(refused(await browser.start({ provider: 'gone' }))).to.deep.equal([404, 'provider_unknown'])
    expect((await browser.start()).status).to.equal(200)
    await using none = await startTestIdentity()
    expect((await answered(none.call('GET', '/api/auth/providers'))).body['providers']).to.deep.equal([])
  })
})

async function openServer() {
  const server = createServer((_, response) => {
    inner.requests += 1
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const inner = { url, requests: 0, [Symbol.asyncDispose]: async () => void server.close() }
  return inner
}
