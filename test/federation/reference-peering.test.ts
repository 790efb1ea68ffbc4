import { Peer } from '@gatehouse/domain'
import { expect } from 'chai'
import { openReferencePairs, ours, theirs, type ReferencePair } from './reference-pair.ts'
import { answered } from '@gatehouse/test-kit'

const startPair = openReferencePairs()
const initiatePath = '/api/federation/peer/initiate'

const proven = async ({ gate, nova }: ReferencePair) => {
  const [peer] = await gate.deps.orm.em.fork().find(Peer, {})
  const { secret, instanceId } = peer!
  return { sameSecret: secret === nova.peer(ours)?.secret, instanceId: instanceId === nova.instanceId() }
}

for (const generation of [1, 2] as const) {
  describe(`peering with the reference peer of generation ${generation}`, () => {
    const startReferencePair = (options: Parameters<typeof startPair>[0] = {}) =>
      startPair({ ...options, reference: { generation, ...options.reference } })

    describe('that we ask', () => {
      it('and that accepts at once', async () => {
        await using pair = await startReferencePair()

        const answer = await pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs })
        await pair.run()

        expect(answer.status).to.equal(200)
        expect(await pair.states()).to.deep.equal(['active', 'active'])
        expect(await proven(pair)).to.deep.equal({ sameSecret: true, instanceId: true })
      })

      for (const autoAccept of [true, false]) {
        it(`and whose admin approves, with our autoAcceptPeering ${autoAccept ? 'on' : 'off'}`, async () => {
          await using pair = await startReferencePair({
            autoAccept,
            reference: { settings: { autoAcceptPeering: false } },
          })

          const answer = await pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs })
          const waiting = await pair.states()
          await pair.run()
          const approved = await pair.nova.approve(pair.nova.requests()[0]!.id)
          await pair.run()

          expect([answer.status, approved.status]).to.deep.equal([202, 200])
          expect(waiting).to.deep.equal(['awaiting_approval', undefined])
          expect(await pair.states()).to.deep.equal(['active', 'active'])
          expect(await proven(pair)).to.deep.equal({ sameSecret: true, instanceId: true })
        })
      }

      it('and whose admin denies: we are told, and it may offer itself later', async () => {
        await using pair = await startReferencePair({ reference: { settings: { autoAcceptPeering: false } } })
        await answered(pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs }))

        const denied = await pair.nova.deny(pair.nova.requests()[0]!.id)

        expect(denied.status).to.equal(200)
        expect((await pair.states())[0]).to.equal('rejected')
        expect((await pair.peers())[0]).to.include({ reason: 'denied_by_peer' })
      })
    })

    describe('that asks us', () => {
      for (const autoAcceptPeering of [true, false]) {
        it(`while we accept at once, with its own setting ${autoAcceptPeering ? 'on' : 'off'}`, async () => {
          await using pair = await startReferencePair({ reference: { settings: { autoAcceptPeering } } })

          const answer = await pair.nova.initiate(ours)
          const offered = pair.nova.peer(ours)?.secret
          await pair.run()

          expect(answer.status).to.equal(202)
          expect(await pair.states()).to.deep.equal(['active', 'active'])
          expect(await proven(pair)).to.deep.equal({ sameSecret: true, instanceId: true })
          expect(pair.nova.peer(ours)?.secret).to.not.equal(offered)
        })

        it(`and our admin approves, with its own setting ${autoAcceptPeering ? 'on' : 'off'}`, async () => {
          await using pair = await startReferencePair({
            autoAccept: false,
            reference: { settings: { autoAcceptPeering } },
          })

          const answer = await pair.nova.initiate(ours)
          await pair.run()
          const waiting = await pair.states()
          const [request] = await pair.requests()
          const approved = await pair.gate.admin('POST', `/api/federation/approval-requests/${request!.id}/approve`)
          await pair.run()

          expect([answer.status, approved.status]).to.deep.equal([202, 200])
          expect(waiting).to.deep.equal([undefined, 'awaiting_approval'])
          expect(request).to.include({ origin: theirs, direction: 'inbound', instanceName: 'Nova' })
          expect(await pair.states()).to.deep.equal(['active', 'active'])
          expect(await proven(pair)).to.deep.equal({ sameSecret: true, instanceId: true })
          expect(await pair.requests()).to.deep.equal([])
        })
      }

      it('and our admin denies: it is told, until it has heard, and a later offer is final', async () => {
        await using pair = await startReferencePair({ autoAccept: false })
        await pair.nova.initiate(ours)
        const [request] = await pair.requests()
        pair.nova.addFault({ path: '/api/federation/peer/denied', answer: { status: 502 } })

        const denied = await pair.gate.admin('POST', `/api/federation/approval-requests/${request!.id}/deny`)
        await pair.run()
        const state = await pair.states()
        const again = await pair.nova.ensure(ours)

        expect(denied.status).to.equal(200)
        expect(state).to.deep.equal(['rejected', 'rejected'])
        expect(again.body).to.include({ peeringStatus: 'rejected' })
      })

      it('again and again after its answer was lost: the same secret is 200 and writes nothing', async () => {
        await using pair = await startReferencePair()
        await answered(pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs }))
        const before = await pair.peers()
        const { secret } = pair.nova.peer(ours)!

        const body = { sourceOrigin: theirs, hmacSecret: secret, instanceName: 'Another name' }
        const same = await pair.gate.call('POST', '/api/federation/peer/accept', { body })
        const other = await pair.gate.call('POST', '/api/federation/peer/accept', {
          body: { ...body, hmacSecret: 'b'.repeat(64) },
        })

        expect([same.status, other.status]).to.deep.equal([200, 409])
        expect(same.body).to.include({ accepted: true })
        expect(other.body).to.include({ accepted: false, code: 'PEER_EXISTS_RESET_REQUIRED' })
        expect(await pair.peers()).to.deep.equal(before)
      })
    })

    describe('whose answers are lost', () => {
      const accept = '/api/federation/peer/accept'

      it('at our offer: the proof shows that it holds our secret', async () => {
        await using pair = await startReferencePair()
        pair.nova.addFault({ path: accept, dropAnswer: true })

        const answer = await pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs })

        expect(answer.status).to.equal(200)
        expect(await pair.states()).to.deep.equal(['active', 'active'])
      })

      it('at our offer and at the proof: the periodic task goes on', async () => {
        await using pair = await startReferencePair()
        pair.nova.addFault({ path: accept, dropAnswer: true })
        pair.nova.addFault({ path: '/api/federation/epoch', answer: { status: 503 } })

        const answer = await pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs })
        pair.clock.advance(60_000)
        await pair.run()

        // Its first sync, which comes at any moment, may prove the secret before.
        expect(answer.status).to.be.oneOf([200, 503])
        expect(await pair.states()).to.deep.equal(['active', 'active'])
        expect(await proven(pair)).to.deep.equal({ sameSecret: true, instanceId: true })
      })

      it('at the offer that answers its own, several times', async () => {
        await using pair = await startReferencePair()
        await pair.nova.initiate(ours)
        pair.nova.addFault({ path: accept, answer: { status: 500 }, times: 3 })
        pair.nova.addFault({ path: accept, dropAnswer: true })

        await pair.run(8, 10_000)

        expect(await pair.states()).to.deep.equal(['active', 'active'])
        expect(await proven(pair)).to.deep.equal({ sameSecret: true, instanceId: true })
      })

      it('when its restart comes between', async () => {
        await using pair = await startReferencePair()
        await pair.nova.initiate(ours)
        await pair.nova.stop()
        await pair.gate.runDue()
        pair.clock.advance(1_000)
        await pair.gate.runDue()
        await pair.nova.restart()

        await pair.run(8, 10_000)

        expect(await pair.states()).to.deep.equal(['active', 'active'])
      })
    })

    it('whose clock is twenty minutes off waits, and goes on once it is right', async () => {
      await using pair = await startReferencePair()
      pair.nova.skewClock(20 * 60_000)

      const answer = await pair.nova.initiate(ours)
      const kept = await pair.requests()
      await pair.run()
      const before = (await pair.states())[0]
      pair.nova.skewClock(0)
      await pair.run(8, 60_000)

      expect(answer.status).to.equal(202)
      expect([kept, before]).to.deep.equal([[], undefined])
      expect(await pair.states()).to.deep.equal(['active', 'active'])
    })

    describe('while both offer themselves', () => {
      for (const publicOrigin of [ours, 'https://zeta.example']) {
        it(`ends with one secret, ${publicOrigin === ours ? 'sorting before' : 'sorting behind'} it`, async () => {
          await using pair = await startReferencePair({ publicOrigin })
          let crossing: Promise<unknown> | undefined
          pair.nova.addFault({
            path: '/api/federation/peer/accept',
            before: async () => void (crossing = pair.nova.initiate(publicOrigin)),
          })

          await answered(pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs }))
          await crossing
          await pair.run(10, 3_000)

          expect(await pair.states()).to.deep.equal(['active', 'active'])
          const [peer] = await pair.gate.deps.orm.em.fork().find(Peer, {})
          expect(peer?.secret).to.equal(pair.nova.peer(publicOrigin)?.secret)
        })
      }
    })

    it('that we revoked stays out until an admin lifts it', async () => {
      await using pair = await startReferencePair()
      await answered(pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs }))
      const [peer] = await pair.peers()
      await answered(pair.gate.admin('DELETE', `/api/federation/peers/${peer!.id as string}`))
      pair.nova.revoke(ours)

      const offered = await pair.nova.initiate(ours)
      const state = (await pair.states())[0]
      const lifted = await pair.gate.admin('POST', initiatePath, { remoteOrigin: theirs })

      expect([offered.status, state]).to.deep.equal([502, 'revoked'])
      expect(lifted.status).to.equal(200)
      expect(await pair.states()).to.deep.equal(['active', 'active'])
    })
  })
}
