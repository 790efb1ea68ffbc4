import type { ApplicationReply } from '@gatehouse/contracts'
import { Application, AuditEntry } from '@gatehouse/domain'
import { answered, failAfterCommit, insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startApplications, startReceiver, type Applications } from '../../test/applications.ts'
import { findByCredentials } from '../clients/secrets.ts'

const path = '/api/admin/applications'
const dayMs = 86_400_000

/** Contract: 3, Applications. */
describe('Applications', () => {
  let applications: Applications
  beforeEach(async () => void (applications = await startApplications()))
  afterEach(() => applications[Symbol.asyncDispose]())

  const patch = (id: string, body: object) =>
    applications.call<{ application: ApplicationReply }>('PATCH', `${path}/${id}`, { body })
  const isGood = async (id: string, secret: string) => {
    const { orm, clock } = applications
    return (await findByCredentials({ orm, clock }, { id, secret })) !== null
  }
  const actions = async () => {
    const entries = await applications.orm.em.fork().find(AuditEntry, {}, { orderBy: { id: 'asc' } })
    return entries.map(({ action, targetName, detail }) => ({ action, targetName, detail }))
  }
  const rowOf = (id: string) => applications.orm.em.fork().findOneOrFail(Application, { id })

  it('are added with a secret that is shown once and stored hashed', async () => {
    const { id, secret, ...application } = await applications.buildApplication({ signalsUri: 'http://127.0.0.1:1/s' })

    expect(secret).to.match(/^[\w-]{43}$/)
    expect(application).to.deep.include({
      name: 'Wiki',
      type: 'confidential',
      skipConsent: false,
      accessTokens: 'opaque',
      deviceGrant: false,
      subjectType: 'public',
    })
    const untold = { waiting: 0, lastDeliveredAt: null, failingSince: null, lastError: null }
    expect(application.receiver).to.deep.equal({ backchannel: null, signals: untold })
    const { body } = await applications.call<{ applications: ApplicationReply[] }>('GET', path)
    expect(body.applications.map((one) => one.id)).to.deep.equal([id])
    expect(JSON.stringify([body, await rowOf(id), await actions()])).to.not.include(secret)
    expect([await isGood(id, secret), await isGood(id, `${secret}x`), await isGood('x', secret)]).to.deep.equal([
      true,
      false,
      false,
    ])
  })

  it('have their secret although PostgreSQL is away from the commit on: nobody could ask for it again', async () => {
    const body = { name: 'Wiki', type: 'confidential', redirectUris: ['https://wiki.example/'] }

    const created = await failAfterCommit(() => applications.call('POST', path, { body }))

    expect(created.status, JSON.stringify(created.body)).to.equal(201)
    expect(created.body['clientSecret']).to.match(/^[\w-]{43}$/)
  })

  it('that are public have no secret, and only they return to a scheme of their own', async () => {
    const redirectUris = ['com.example.app:/done']
    const { id, secret } = await applications.buildApplication({ type: 'public', redirectUris })
    expect(secret).to.equal('')

    const renewed = await applications.call('POST', `${path}/${id}/secret`)
    expect(renewed.body).to.include({ code: 'application_public', statusCode: 409 })
    const body = { name: 'Forum', type: 'confidential', redirectUris: ['https://f.example/', ...redirectUris] }
    const refused = await applications.call('POST', path, { body })
    expect(refused.body).to.deep.include({ code: 'redirect_uri_invalid' })
    expect(refused.body['details']).to.deep.equal({ field: 'redirectUris.1', reason: 'invalid' })
  })

  it('have https addresses, or http on a loopback address', async () => {
    const { id } = await applications.buildApplication()
    const create = (given: object) =>
      applications.call('POST', path, { body: { name: 'x', type: 'public', redirectUris: [], ...given } })
    const wrong = [
      'http://wiki.example/',
      'https://*.example/',
      'https://wiki.example/#a',
      'javascript:alert(1)',
      'http://127.0.0.5/',
      'nothing',
    ]
    for (const uri of wrong) {
      expect((await create({ redirectUris: [uri] })).body, uri).to.include({ code: 'redirect_uri_invalid' })
      expect((await patch(id, { redirectUris: [uri] })).body, uri).to.include({ code: 'redirect_uri_invalid' })
      expect((await create({ signalsUri: uri })).body, uri).to.include({ code: 'receiver_uri_invalid' })
      expect((await patch(id, { backchannelLogoutUri: uri })).body, uri).to.include({ code: 'receiver_uri_invalid' })
    }
    const native = ['http://127.0.0.1:9/a', 'http://[::1]/a', 'http://localhost/a', 'https://a.example/b?c=d']
    expect((await create({ redirectUris: native })).status).to.equal(201)
    expect((await create({ redirectUris: ['https://localhost/a'] })).status).to.equal(201)
    const claimed = await create({ redirectUris: [...native, 'https://localhost/a'] })
    expect(claimed.body['details']).to.deep.equal({ field: 'redirectUris.4', reason: 'invalid' })
    const ended = await create({ redirectUris: native, postLogoutRedirectUris: ['https://[::1]/a'] })
    expect(ended.body['details']).to.deep.equal({ field: 'postLogoutRedirectUris.0', reason: 'invalid' })
  })

  it('are told at private addresses only where the operator allows them', async () => {
    const uris = ['http://127.0.0.1:9/s', 'http://localhost/s', 'https://[::1]/s', 'https://10.0.0.1/s']
    await using closed = await startApplications({ allowPrivate: '' })
    const { id } = await closed.buildApplication({ signalsUri: 'https://wiki.example/s' })
    for (const uri of uris) {
      const body = { name: 'x', type: 'public', redirectUris: [], backchannelLogoutUri: uri }
      const created = await closed.call('POST', path, { body })
      expect(created.body, uri).to.include({ code: 'receiver_uri_private', statusCode: 400 })
      const patched = await closed.call('PATCH', `${path}/${id}`, { body: { signalsUri: uri } })
      expect(patched.body['details'], uri).to.deep.equal({ field: 'signalsUri', reason: 'invalid' })
    }
    expect((await applications.buildApplication({ signalsUri: 'http://localhost/s' })).id).to.be.a('string')
  })

  it('choose pairwise subjects once, with one host, which may move', async () => {
    const redirectUris = ['https://wiki.example/a', 'https://wiki.example/b']
    const { id, subjectType } = await applications.buildApplication({ subjectType: 'pairwise', redirectUris })
    expect([subjectType, (await rowOf(id)).sector]).to.deep.equal(['pairwise', 'wiki.example'])
    expect((await applications.buildApplication()).subjectType).to.equal('public')
    const native = await applications.buildApplication({
      type: 'public',
      subjectType: 'pairwise',
      redirectUris: ['com.example.app:/done'],
    })
    expect((await rowOf(native.id)).sector, 'a device has no host').to.equal(native.id)

    const two = ['https://wiki.example/', 'https://forum.example/']
    const body = { name: 'x', type: 'public', redirectUris: two, subjectType: 'pairwise' }
    const refused = [await applications.call('POST', path, { body }), await patch(id, { redirectUris: two })]
    for (const answer of refused) expect(answer.body).to.include({ code: 'application_pairwise', statusCode: 400 })
    const moved = await patch(id, { redirectUris: ['https://wiki.example.org/'], subjectType: 'public' })
    expect(moved.body.application).to.include({ subjectType: 'pairwise' })
    expect((await patch(id, { deviceGrant: true })).body).to.include({ code: 'application_pairwise' })
    expect((await rowOf(id)).sector).to.equal('wiki.example')
  })

  it('get a new secret while the one before works for a day', async () => {
    const { id, secret: first } = await applications.buildApplication()
    const renew = async () => {
      return (await applications.call<{ clientSecret: string }>('POST', `${path}/${id}/secret`)).body.clientSecret
    }
    const second = await renew()
    expect([await isGood(id, first), await isGood(id, second)]).to.deep.equal([true, true])

    applications.clock.advance(dayMs - 1)
    expect(await isGood(id, first)).to.equal(true)
    applications.clock.advance(1)
    expect([await isGood(id, first), await isGood(id, second)]).to.deep.equal([false, true])

    const third = await renew()
    expect([await isGood(id, first), await isGood(id, second), await isGood(id, third)]).to.deep.equal([
      false,
      true,
      true,
    ])
  })

  it('are changed and suspended, and each change is in the audit log', async () => {
    const { id, secret } = await applications.buildApplication()

    const changed = await patch(id, { name: 'Library', skipConsent: true, accessTokens: 'opaque', suspended: true })

    expect(changed.body.application).to.include({ name: 'Library', skipConsent: true })
    expect(changed.body.application.suspendedAt).to.equal(applications.clock.now())
    expect(await isGood(id, secret)).to.equal(false)
    await patch(id, { suspended: false })
    await patch(id, { suspended: false, name: 'Library' })
    expect(await isGood(id, secret)).to.equal(true)
    await answered(applications.call('POST', `${path}/${id}/secret`))
    await answered(applications.call('DELETE', `${path}/${id}`))
    expect(await actions()).to.deep.equal([
      {
        action: 'application.created',
        targetName: 'Wiki',
        detail: { type: 'confidential', redirectUris: ['https://wiki.example/callback'] },
      },
      { action: 'application.changed', targetName: 'Library', detail: { name: 'Library', skipConsent: true } },
      { action: 'application.suspended', targetName: 'Library', detail: {} },
      { action: 'application.unsuspended', targetName: 'Library', detail: {} },
      { action: 'application.secret-renewed', targetName: 'Library', detail: {} },
      { action: 'application.deleted', targetName: 'Library', detail: {} },
    ])
  })

  it('that do not exist are unknown', async () => {
    const { id: userId, username } = await insertUser({ orm: applications.orm })
    for (const [method, place] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/secret'],
      ['POST', '/verify'],
    ] as const) {
      const { body } = await applications.call(method, `${path}/7${place}`, method === 'PATCH' ? { body: {} } : {})
      expect(body, method + place).to.include({ code: 'application_unknown', statusCode: 404 })
    }
    const as = { id: userId, username }
    const ended = await applications.call('DELETE', '/api/users/@me/applications/7', { as })
    expect(ended.body).to.include({ code: 'application_unknown' })
  })

  it('are at most 200', async () => {
    const { id } = await applications.buildApplication()
    const sql = `insert into applications select n, name, type, redirect_uris, post_logout_redirect_uris, null, null,
      skip_consent, access_tokens, device_grant, null, null, null, null, null, created_at, null from applications, generate_series(1, 198) n
      where id = ?`
    await applications.orm.em.fork().execute(sql, [id])
    const body = { name: 'x', type: 'public', redirectUris: [] }

    const answers = await Promise.all(Array.from({ length: 8 }, () => applications.call('POST', path, { body })))

    expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
    const refused = answers.filter(({ body: { code } }) => code === 'application_limit')
    expect(refused.map(({ status }) => status)).to.deep.equal(Array.from({ length: 7 }, () => 409))
    expect(await applications.orm.em.fork().count(Application)).to.equal(200)
  })

  it('are for admins only, whose role is read with the change', async () => {
    const { id, username } = await insertUser({ orm: applications.orm })
    const as = { id, username, isAdmin: true }
    const { body } = await applications.call('POST', path, {
      as,
      body: { name: 'x', type: 'public', redirectUris: [] },
    })
    expect(body).to.include({ code: 'admin_required' })
    const other = await applications.call('GET', path, { as: { id, username } })
    expect(other.body).to.include({ code: 'admin_required' })
  })

  it('are listed for a person who allowed them, who ends one: it is told', async () => {
    await using receiver = await startReceiver()
    const { id: accountId, username } = await insertUser({ orm: applications.orm })
    const uris = { signalsUri: receiver.url('/s'), backchannelLogoutUri: receiver.url('/l') }
    const [{ id }, other] = [await applications.buildApplication(uris), await applications.buildApplication(uris)]
    await applications.allow(accountId, id)
    await applications.allow(applications.admin.id, id)
    await applications.allow(accountId, other.id)
    const as = { id: accountId, username }
    const list = async () =>
      (await applications.call('GET', '/api/users/@me/applications', { as })).body['applications']
    const grantedAt = applications.clock.now()
    const wiki = { id, name: 'Wiki', scopes: ['openid', 'profile'], grantedAt, lastUsedAt: null }
    expect(await list()).to.have.deep.members([wiki, { ...wiki, id: other.id }])

    const ended = await applications.call('DELETE', `/api/users/@me/applications/${id}`, { as })
    await applications.openid.runDue()

    expect(ended.body).to.deep.equal({ success: true })
    expect(await list()).to.deep.equal([{ ...wiki, id: other.id }])
    expect(receiver.received.map((one) => one.claims.aud)).to.deep.equal([id, id])
    expect(receiver.events()).to.have.members(['backchannel-logout', 'session-revoked'])
    const left = await applications.orm.em.fork().execute('select 1 from application_consents')
    expect(left).to.have.length(2)
  })

  it('that move their receiver are told there at once, and nothing without one', async () => {
    await using receiver = await startReceiver()
    receiver.state.answer = 503
    const { id } = await applications.buildApplication({ signalsUri: receiver.url('/old') })
    await answered(applications.call('POST', `${path}/${id}/verify`))
    await applications.openid.runDue()
    await applications.openid.runDue()
    expect(receiver.received.map((one) => one.path)).to.deep.equal(['/old'])
    receiver.state.answer = 202

    await patch(id, { signalsUri: receiver.url('/new') })
    await applications.openid.runDue()

    expect(receiver.received.map((one) => one.path)).to.deep.equal(['/old', '/new'])
    receiver.state.answer = 503
    await answered(applications.call('POST', `${path}/${id}/verify`))
    await applications.openid.runDue()
    await patch(id, { signalsUri: null })
    expect((await applications.receiverOf(id)).signals).to.equal(null)
    expect(await applications.orm.em.fork().execute('select 1 from application_notices')).to.deep.equal([])
  })

  it('that are deleted leave nothing', async () => {
    await using receiver = await startReceiver()
    receiver.state.answer = 503
    const { id } = await applications.buildApplication({ signalsUri: receiver.url('/s') })
    await applications.allow(applications.admin.id, id)
    await answered(applications.call('POST', `${path}/${id}/verify`))
    await applications.openid.runDue()

    await answered(applications.call('DELETE', `${path}/${id}`))

    for (const table of ['applications', 'application_consents', 'application_notices', 'application_receivers']) {
      expect(await applications.orm.em.fork().execute(`select 1 from ${table}`), table).to.deep.equal([])
    }
  })
})
