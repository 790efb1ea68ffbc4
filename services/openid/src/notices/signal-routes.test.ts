import { expect } from 'chai'
import { origin, startApplications, startReceiver, type Applications } from '../../test/applications.ts'

/** Contract: 3, Applications. */
describe('The stream of signals of an application', () => {
  let stack: AsyncDisposableStack
  let applications: Applications
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  beforeEach(async () => {
    stack = new AsyncDisposableStack()
    receiver = stack.use(await startReceiver())
    applications = stack.use(await startApplications())
    await applications.enable()
  })
  afterEach(() => stack.disposeAsync())

  const build = (signalsUri: string | null = receiver.url('/signals')) => applications.buildApplication({ signalsUri })
  const basic = ({ id, secret }: { id: string; secret: string }) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
    applications.call(method, path, { as: undefined, headers, ...(body && { body }) })
  const verify = (headers: Record<string, string>, body: object) => ask('POST', '/oauth2/signals/verify', headers, body)

  it('is described, and there is none while the setting is off', async () => {
    const { status, body } = await ask('GET', '/.well-known/ssf-configuration')
    expect(status).to.equal(200)
    expect(body).to.deep.include({
      spec_version: '1_0',
      issuer: origin,
      jwks_uri: `${origin}/oauth2/jwks`,
      delivery_methods_supported: ['urn:ietf:rfc:8935'],
      configuration_endpoint: `${origin}/oauth2/signals/stream`,
    })
    const { id: streamId, ...application } = await build()
    const headers = basic({ id: streamId, ...application })
    const stream = await ask('GET', '/oauth2/signals/stream', headers)
    expect(stream.body).to.deep.include({ stream_id: streamId, iss: origin, aud: streamId })
    expect(stream.body['delivery']).to.deep.equal({
      method: 'urn:ietf:rfc:8935',
      endpoint_url: receiver.url('/signals'),
    })
    expect(stream.body['events_delivered']).to.have.length(5)

    await applications.orm.em.fork().execute('update instance_settings set openid_enabled = false')
    applications.clock.advance(1_000)
    for (const path of ['/.well-known/ssf-configuration', '/oauth2/signals/stream'])
      expect((await ask('GET', path, headers)).status, path).to.equal(404)
    expect((await verify(headers, { stream_id: streamId })).status).to.equal(404)
  })

  it('is for the application itself', async () => {
    const application = await build()
    const other = await build(null)
    const read = async (headers?: Record<string, string>, query = '') =>
      (await ask('GET', `/oauth2/signals/stream${query}`, headers)).status
    expect(await read(basic(application), `?stream_id=${application.id}`)).to.equal(200)

    expect(await read()).to.equal(401)
    expect(await read({ authorization: 'Bearer x' })).to.equal(401)
    expect(await read(basic({ ...application, secret: other.secret }))).to.equal(401)
    expect(await read(basic(application), `?stream_id=${other.id}`)).to.equal(404)
    expect(await read(basic(other))).to.equal(404)
    const refused = await ask('POST', '/oauth2/signals/verify', {}, { stream_id: application.id })
    expect(refused.status).to.equal(401)
    expect(refused.headers.get('www-authenticate')).to.include('Basic')
  })

  it('sends a verification with its state, once in a minute', async () => {
    const application = await build()
    const body = { stream_id: application.id, state: 'VGhpcyBpcyBh' }

    expect((await verify(basic(application), body)).status).to.equal(204)
    await applications.openid.runDue()

    const [{ claims }] = receiver.received as [(typeof receiver.received)[number]]
    const uri = 'https://schemas.openid.net/secevent/ssf/event-type/verification'
    expect(claims['events']).to.deep.equal({ [uri]: { state: 'VGhpcyBpcyBh' } })
    expect(claims['sub_id']).to.deep.equal({ format: 'opaque', id: application.id })
    const again = await verify(basic(application), body)
    expect([again.status, again.headers.get('retry-after')]).to.deep.equal([429, '60'])
    applications.clock.advance(60_000)
    expect((await verify(basic(application), body)).status).to.equal(204)
    expect((await verify(basic(application), { stream_id: '7' })).status).to.equal(404)
    expect((await verify(basic(application), { stream_id: application.id, state: 7 })).status).to.equal(400)
  })

  it('is tried by an admin, who sees the outcome', async () => {
    const [{ id }, other] = [await build(), await build(null)]
    const verified = await applications.call('POST', `/api/admin/applications/${id}/verify`)
    await applications.openid.runDue()

    expect(verified.body).to.deep.equal({ success: true })
    expect(receiver.events()).to.deep.equal(['verification'])
    expect((await applications.receiverOf(id)).signals!.lastDeliveredAt).to.equal(applications.clock.now())
    const refused = await applications.call('POST', `/api/admin/applications/${other.id}/verify`)
    expect(refused.body).to.include({ code: 'receiver_missing', statusCode: 409 })
  })
})
