import { expect } from 'chai'
import { buildToken, buildUser } from '../../test/builders.ts'
import { buildClient, home } from '../../test/harness.ts'
import { ApiError } from '../api/errors.ts'

const login = `POST ${home}/api/auth/login`
const credentials = { username: 'alice', password: 'secret' }

/** Contract: 3, Second factor. */
describe('A login with a second factor', () => {
  it('names the next step, signs in with the code, and rejects with a wrong one', async () => {
    const { client, network } = buildClient()
    network.answer(login, { status: 401, body: { error: 'Enter the code', code: 'second_factor_required' } })
    expect(await client.logIn(credentials)).to.deep.equal({ next: 'second_factor', user: null })
    expect(client.session.getSnapshot().token).to.equal(null)

    network.answer(login, { status: 401, body: { error: 'Wrong', code: 'second_factor_wrong' } })
    const refused = await client.logIn({ ...credentials, code: '1' }).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ApiError).with.property('code', 'second_factor_wrong')

    const user = buildUser()
    network.answer(login, { body: { token: buildToken(), user } })
    expect(await client.logIn({ ...credentials, code: '123456' })).to.deep.equal({ next: null, user })
    expect(client.session.getSnapshot().user).to.deep.equal(user)
    client.close()
  })

  it('follows what a security notice says of the own account', () => {
    const { client, sockets } = buildClient()
    client.session.initSession(buildToken(), buildUser({ secondFactor: false }))
    const isOn = () => client.session.getSnapshot().user?.secondFactor
    for (const [what, expected] of [
      ['second_factor_on', true],
      ['second_factor_blocked', true],
      ['passkey_added', true],
      ['passkey_removed', true],
      ['identity_linked', true],
      ['second_factor_off', false],
    ] as const) {
      sockets.last().serverSends({ type: 'security_notice', what, at: 1 })
      expect(isOn(), what).to.equal(expected)
    }
    client.close()
  })
})
