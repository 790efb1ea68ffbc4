import { expect } from 'chai'
import { buildUser } from '../../test/builders.ts'
import { buildClient, createFakeStorage, home } from '../../test/harness.ts'
import { finishProviderLogIn, linkIdentity, readProviderReturn, startProvider } from './index.ts'

const start = `POST ${home}/api/auth/providers/uni/start`
const finish = `POST ${home}/api/auth/providers/finish`
const address = 'https://id.example/authorize?client_id=1&state=s1'
const arrival = '#ticket=t1&purpose=login&provider=uni&redirect=%2Fadmin%3Fa%3D1'

async function buildStarted() {
  const built = buildClient()
  const tab = createFakeStorage()
  built.network.answer(start, { body: { url: address } })
  const url = await startProvider(built.client, { provider: 'uni', purpose: 'login', storage: tab })
  return { ...built, tab, url }
}

describe('signing in with an identity provider', () => {
  it('leads to the provider, and takes the ticket that comes back to the tab', async () => {
    const { tab, url, network } = await buildStarted()

    expect(url).to.equal(address)
    expect(network.sentTo(start)[0]?.json).to.deep.equal({ purpose: 'login', redirect: null })
    expect(readProviderReturn(`${arrival}&state=s1`, tab)).to.deep.equal({
      error: null,
      ticket: 't1',
      purpose: 'login',
      provider: 'uni',
      redirect: '/admin?a=1',
    })
  })

  it('takes no ticket that this tab has not asked for, none twice, and none in pieces', async () => {
    const { tab } = await buildStarted()
    expect(readProviderReturn(`${arrival}&state=s2`, tab)).to.deep.equal({ error: 'expired' })
    expect(readProviderReturn(`${arrival}&state=s1`, tab)).to.deep.equal({ error: 'expired' })
    expect(readProviderReturn(`${arrival}&state=`, createFakeStorage())).to.deep.equal({ error: 'expired' })

    for (const broken of ['', 'ticket=t1&purpose=login&state=s1', 'ticket=t1&purpose=buy&provider=uni&state=s1']) {
      const { tab: another } = await buildStarted()
      expect(readProviderReturn(broken, another), broken).to.deep.equal({ error: 'expired' })
    }
  })

  it('knows the errors of the instance, and calls any other one the provider’s', async () => {
    const storage = createFakeStorage()

    expect(readProviderReturn('#error=cancelled', storage)).to.deep.equal({ error: 'cancelled' })
    expect(readProviderReturn('#error=provider_unavailable', storage)).to.deep.equal({ error: 'provider_unavailable' })
    expect(readProviderReturn('#error=unavailable', storage)).to.deep.equal({ error: 'unavailable' })
    expect(readProviderReturn('#error=<b>', storage)).to.deep.equal({ error: 'provider_error' })
  })

  it('begins the session of a linked identity', async () => {
    const { client, network } = buildClient()
    const user = buildUser()
    network.answer(finish, { body: { token: 'by-provider', user } })

    expect(await finishProviderLogIn(client, { ticket: 't1' })).to.deep.equal({ next: null, user })

    expect(client.session.getSnapshot()).to.deep.include({ token: 'by-provider', user })
    expect(network.sentTo(finish)[0]?.json).to.deep.equal({ ticket: 't1' })
  })

  it('asks for a code, for a username, and throws what the person can not answer', async () => {
    const { client, network } = buildClient()
    const proposal = { username: 'ada', displayName: null }
    const refuse = (status: number, body: object) =>
      network.answer(finish, { status, body: { error: 'no', statusCode: status, ...body } })

    refuse(401, { code: 'second_factor_required' })
    expect(await finishProviderLogIn(client, { ticket: 't1' })).to.deep.equal({ next: 'second_factor' })
    refuse(409, { code: 'username_required', proposal, gates: { registrationOpen: false } })
    expect(await finishProviderLogIn(client, { ticket: 't1', code: '123456' })).to.deep.equal({
      next: 'username',
      proposal,
      isInviteNeeded: true,
    })
    refuse(400, { code: 'username_required' })
    const refusal = await finishProviderLogIn(client, { ticket: 't1', username: '' }).catch((error: unknown) => error)
    expect(refusal).to.include({ status: 400, code: 'username_required' })

    expect(client.session.getSnapshot().token).to.equal(null)
    expect(network.sentTo(finish)[1]?.json).to.deep.equal({ ticket: 't1', code: '123456' })
  })

  it('registers with the name that was chosen', async () => {
    const { client, network } = buildClient()
    network.answer(finish, { status: 201, body: { token: 'new', user: buildUser() } })

    await finishProviderLogIn(client, { ticket: 't1', username: 'ada', displayName: '', inviteToken: 'i1' })

    expect(network.sentTo(finish)[0]?.json).to.deep.equal({
      ticket: 't1',
      username: 'ada',
      displayName: null,
      inviteToken: 'i1',
    })
    expect(client.session.getSnapshot().token).to.equal('new')
  })

  it('gives the receipt of a registration that waits for approval, and begins no session', async () => {
    const { client, network } = buildClient()
    const pending = { pending: true, username: 'alice', receipt: 'receipt-1' }
    network.answer(finish, { status: 202, body: pending })

    const step = await finishProviderLogIn(client, { ticket: 't1', username: 'alice', reason: 'I sing' })

    expect(step).to.deep.equal({ next: 'approval', pending })
    expect(network.sentTo(finish)[0]?.json).to.include({ username: 'alice', reason: 'I sing' })
    expect(client.session.getSnapshot().token).to.equal(null)
  })

  it('links an identity under the session, which a refusal leaves', async () => {
    const { client, network } = buildClient()
    client.session.initSession('own', buildUser())
    const identity = { id: '5', provider: 'uni', name: 'Ada', linkedAt: 1, lastUsedAt: null }
    network.answer(finish, { status: 403, body: { error: 'no', statusCode: 403, code: 'password_incorrect' } })
    await linkIdentity(client, { ticket: 't1', password: 'wrong' }).catch(() => undefined)
    network.answer(finish, { body: { success: true, identity } })

    expect(await linkIdentity(client, { ticket: 't1', password: 'right' })).to.deep.equal(identity)

    expect(network.sentTo(finish).map(({ token }) => token)).to.deep.equal(['own', 'own'])
    expect(client.session.getSnapshot().token).to.equal('own')
  })
})
