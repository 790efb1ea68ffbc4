import { expect } from 'chai'
import { joinPeers, openNetwork, secretOfPage, send, settle, startOfTime } from './network.ts'

const gateId = 'c1d2e3f4-0a1b-4c2d-8e3f-405162738495'
const novaId = '5b0f2f6e-6d0b-4a53-9a3f-3c2b1f0d9e11'

const message = { timestamp: '1784000000000', nonce: '3f2504e0-4f89-41d3-9a0c-0305e82c3301', body: '{}' }
const epochSignature = 'sha256=7b8d8be39ec57d429bfe80151d8d53507cecc6ca631cecc1a778b20f618c3dc4'

describe('the worked examples (wire: 8)', () => {
  it('offers with the 193 bytes of step 1 and answers step 2', async () => {
    await using network = openNetwork()
    const named = { instanceId: gateId, instanceName: 'Gate', newSecret: () => secretOfPage }
    const gate = await network.start('gate.example', named)
    const nova = await network.start('nova.example', { instanceId: novaId, instanceName: 'Nova' })

    const outcome = await gate.initiate(nova.origin)

    const offer = gate.log[0]
    expect(offer?.body).to.equal(
      `{"sourceOrigin":"https://gate.example","hmacSecret":"${secretOfPage}","instanceName":"Gate","instanceId":"${gateId}"}`,
    )
    expect(Buffer.byteLength(offer?.body ?? '')).to.equal(193)
    expect(offer?.answer).to.equal(`{"accepted":true,"instanceName":"Nova","instanceId":"${novaId}"}`)
    expect(outcome.body).to.include({ verified: true })
  })

  it('asks and answers epoch as in steps 3 and 4', async () => {
    await using network = openNetwork()
    const nova = await network.start('nova.example', {
      instanceId: novaId,
      newNonce: () => '9b2d1c7e-52a4-4d0b-8f36-6d1f0a7e4c55',
      clock: { now: () => startOfTime + 120 },
    })
    nova.addPeer('https://gate.example', { status: 'pending', secret: secretOfPage })
    const headers = {
      'X-Federation-Origin': 'https://gate.example',
      'X-Federation-Timestamp': message.timestamp,
      'X-Federation-Nonce': message.nonce,
      'X-Federation-Signature': epochSignature,
    }

    const answer = await send(nova, { path: '/api/federation/epoch', headers, body: '{}' })

    expect(answer.status).to.equal(200)
    expect(answer.text).to.equal(`{"instanceId":"${novaId}"}`)
    expect(answer.headers).to.include({
      'content-type': 'application/json; charset=utf-8',
      'content-length': '53',
      'x-federation-timestamp': '1784000000120',
      'x-federation-nonce': '9b2d1c7e-52a4-4d0b-8f36-6d1f0a7e4c55',
      'x-federation-signature': 'sha256=5ee12aa78c71dc1b0feebea8abd9267cb21086c9be1984f0092dcf365aa07cb5',
    })
    expect(answer.headers).to.not.have.property('x-federation-origin')
  })

  it('syncs three times as in step 5', async () => {
    await using network = openNetwork()
    const gate = await network.start('gate.example')
    const nova = await network.start('nova.example', {
      newNonce: () => '7d444840-9dc0-41d1-b245-5ffdce74fad2',
      clock: { now: () => startOfTime + 50 },
    })
    const offer = { sourceOrigin: gate.origin, hmacSecret: secretOfPage }

    await send(nova, { path: '/api/federation/peer/accept', body: offer })
    await settle(nova)

    const syncs = gate.log.filter((entry) => entry.path === '/api/federation/sync')
    expect(syncs.map((entry) => entry.body)).to.deep.equal([
      '{"sinceTimestamp":0,"limit":100}',
      '{"sinceTimestamp":0,"limit":100,"contextType":"friend"}',
      '{"sinceTimestamp":0,"limit":100,"contextType":"profile"}',
    ])
    expect(syncs[0]?.headers).to.include({
      'x-federation-origin': 'https://nova.example',
      'x-federation-timestamp': '1784000000050',
      'x-federation-signature': 'sha256=e1b018ca96d2555dcaefbb29bbd092995aaa53b6dfe8e1b2cba5a49934e1d8fd',
    })
  })

  it('relays a presence with the 387 bytes of step 7', async () => {
    await using network = openNetwork()
    const times: number[] = []
    const gate = await network.start('gate.example')
    const nova = await network.start('nova.example', {
      instanceId: novaId,
      newNonce: () => '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
      clock: { now: () => times.shift() ?? startOfTime + 1000 },
    })
    nova.addPeer(gate.origin, { status: 'active', secret: secretOfPage })
    const erin = nova.addUser({ id: '334455667788990011', username: 'erin' })
    times.push(startOfTime + 985, startOfTime + 990)
    nova.setStatus(erin, 'online')

    await nova.tick()

    const relay = gate.log[0]
    expect(relay?.body).to.equal(
      `{"version":1,"sourceInstance":"https://nova.example","sourceInstanceId":"${novaId}","events":[{"eventType":"presence_update","contextType":"profile","messageId":"334455667788990011","encryptionVersion":0,"timestamp":1784000000990,"presenceUpdate":{"homeUserId":"334455667788990011","homeInstance":"https://nova.example","status":"online","ts":1784000000985}}]}`,
    )
    expect(Buffer.byteLength(relay?.body ?? '')).to.equal(387)
    expect(relay?.headers['x-federation-timestamp']).to.equal('1784000001000')
    expect(relay?.headers['x-federation-signature']).to.equal(
      'sha256=8771517fccf599e3ea1a763ab064110b7cdaee393335250ccdf0cb1b106c0761',
    )
  })

  it('deletes an identity with the 79 bytes of the example', async () => {
    await using network = openNetwork()
    const gate = await network.start('gate.example', {
      newNonce: () => 'c56a4180-65aa-42ec-a945-5fd21dec0538',
      clock: { now: () => startOfTime + 5000 },
    })
    const nova = await network.start('nova.example')
    joinPeers(gate, nova)
    const erin = gate.addUser({ id: '334567890123456789', username: 'erin', password: 'the password' })

    const results = await gate.deleteIdentities(erin, [nova.origin], 'soft')

    expect(results).to.deep.equal({ [nova.origin]: { success: true } })
    expect(nova.log[0]?.body).to.equal(
      '{"homeUserId":"334567890123456789","homeInstance":"gate.example","mode":"soft"}',
    )
    expect(nova.log[0]?.headers['x-federation-signature']).to.equal(
      'sha256=3a315560cce6b87435d960afcd32b73d1ea647ee1b5eee8b99f7e311cad00ed8',
    )
  })

  it('denies with the 75 bytes of the example', async () => {
    await using network = openNetwork()
    const gate = await network.start('gate.example', { newSecret: () => secretOfPage })
    const nova = await network.start('nova.example', {
      settings: { autoAcceptPeering: false },
      newNonce: () => '6ba7b810-9dad-41d1-80b4-00c04fd430c8',
      clock: { now: () => 1784000100000 },
    })
    await gate.initiate(nova.origin)

    const denial = await nova.deny(nova.requests()[0]?.id ?? '', 'No')

    const received = gate.log.find((entry) => entry.direction === 'received')
    expect(denial.status).to.equal(200)
    expect(received?.body).to.equal('{"origin":"https://nova.example","reason":"denied_by_admin","message":"No"}')
    expect(received?.headers['x-federation-signature']).to.equal(
      'sha256=611d97d83b5136b7a4b07e8940f51dbbc519a05187848ac34b4620853fede03f',
    )
    expect(received?.answer).to.equal('{"acknowledged":true}')
  })
})
