import { checkHomeEpoch } from '@gatehouse/contracts'
import { expect } from 'chai'
import { startTestInstance } from '../../services/federation-fanout/test/harness.ts'
import { startLossyAddress, type LossyAddress } from './lossy-address.ts'
import { openReferencePairs, ours, theirs, type ReferencePair } from './reference-pair.ts'
import { answered } from '@gatehouse/test-kit'

const accept = '/api/federation/peer/accept'
const epoch = '/api/federation/epoch'

type Fault = {
  name: string
  /** What our first offer may be answered with beside 200 and 202. */
  refused?: number
  /** Before anybody asks. */
  cause?: (pair: ReferencePair, road: LossyAddress) => void
  /** After the first attempt. */
  go?: (pair: ReferencePair, road: LossyAddress) => Promise<AsyncDisposable | void>
}

const faults: Fault[] = [
  {
    name: 'the answers to the first offers are lost',
    refused: 503,
    cause: ({ nova }, road) => {
      nova.addFault({ path: accept, dropAnswer: true })
      road.loseAnswerTo(accept)
    },
  },
  {
    name: 'the answers to the first proofs are lost',
    refused: 503,
    cause: ({ nova }, road) => {
      nova.addFault({ path: epoch, dropAnswer: true, times: 2 })
      road.loseAnswerTo(epoch)
    },
  },
  {
    name: 'the other side restarts in between',
    go: async ({ nova }) => {
      await nova.stop()
      await nova.restart()
    },
  },
  { name: 'our process is killed in between, and another one goes on', go: replaceOurs },
  {
    name: 'its clock is twenty minutes ahead at first',
    refused: 409,
    cause: ({ nova }) => nova.skewClock(20 * 60_000),
    go: async ({ nova }) => nova.skewClock(0),
  },
  {
    name: 'its clock is twenty minutes behind at first',
    refused: 409,
    cause: ({ nova }) => nova.skewClock(-20 * 60_000),
    go: async ({ nova }) => nova.skewClock(0),
  },
]

/** The killed process does nothing any more; what it had taken up is due again after its lease. */
async function replaceOurs(pair: ReferencePair, road: LossyAddress): Promise<AsyncDisposable> {
  const { gate, clock } = pair
  const { config, outbound } = gate.deps
  const next = await startTestInstance('a', {
    databaseUrl: gate.databaseUrl,
    publicOrigin: config.publicAddress.origin,
    resources: { clock },
    overrides: { outbound },
  })
  road.leadTo(next.address)
  pair.gate = next
  clock.advance(60_000)
  return next
}

/** The side that is asked for an approval gives it, again where it gave one up because the answer was lost. */
async function approveAll({ gate, nova, requests }: ReferencePair): Promise<void> {
  for (const { id } of await requests())
    await answered(gate.admin('POST', `/api/federation/approval-requests/${id}/approve`))
  for (const { id } of nova.requests()) await nova.approve(id)
}

const isActive = async (pair: ReferencePair) => (await pair.states()).every((state) => state === 'active')

async function run(pair: ReferencePair): Promise<void> {
  for (let round = 0; round < 12 && !(await isActive(pair)); round += 1) {
    await pair.run(1, 61_000)
    await approveAll(pair)
  }
  await pair.run(2, 61_000)
}

type Case = { fault: Fault; isAskedByUs: boolean; autoAccept: boolean; autoAcceptPeering: boolean }

const both = [true, false]

/** Each fault in all four combinations of settings and both directions. */
export const everyCase: readonly Case[] = faults.flatMap((fault) =>
  both.flatMap((isAskedByUs) =>
    both.flatMap((autoAccept) =>
      both.map((autoAcceptPeering): Case => ({ fault, isAskedByUs, autoAccept, autoAcceptPeering })),
    ),
  ),
)

/** Each fault once; the combinations follow one another. */
export const oneOfEachFault: readonly Case[] = faults.map(
  (_, index) => everyCase[index * (everyCase.length / faults.length) + index]!,
)

/** Registers a test for each. */
export function testReferenceFaults(cases: readonly Case[]): void {
  const startReferencePair = openReferencePairs()
  for (const { fault, isAskedByUs, autoAccept, autoAcceptPeering } of cases) {
    const { name, refused = 200, cause, go } = fault
    const asks = isAskedByUs ? 'we ask' : 'it asks'
    const settings = `ours ${autoAccept ? 'on' : 'off'}, its ${autoAcceptPeering ? 'on' : 'off'}`
    it(`${name}: ${asks}, ${settings}`, async () => {
      await using pair = await startReferencePair({ autoAccept, reference: { settings: { autoAcceptPeering } } })
      await using road = await startLossyAddress(pair.gate.address)
      await using opening = new AsyncDisposableStack()
      pair.addresses.set(ours, road.address)
      cause?.(pair, road)

      if (isAskedByUs)
        await answered(
          pair.gate.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: theirs }),
          200,
          202,
          refused,
        )
      else await pair.nova.initiate(ours)
      const started = await go?.(pair, road)
      if (started) opening.use(started)
      await run(pair)

      expect(await pair.states()).to.deep.equal(['active', 'active'])
      // One secret, in both directions.
      expect(await pair.nova.lookUpByHomeId(ours, '5')).to.equal('no_such_user')
      const question = { host: 'nova.example', timeoutMs: 5_000 }
      const home = await pair.gate.deps.bus.request(checkHomeEpoch, question, { timeoutMs: 5_000 })
      expect(home).to.deep.equal({ outcome: 'same' })
    })
  }
}
