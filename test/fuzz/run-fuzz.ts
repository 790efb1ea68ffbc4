import { promises as dns } from 'node:dns'
import { Agent } from 'node:http'
import { startInstance } from '../instance.ts'
import { insertAccounts } from '../revocation/accounts.ts'
import { socketCase } from './frames.ts'
import { judgeAnswer, judgeLogLine } from './judge.ts'
import { measureHoldings, waitForDescriptors, type Holdings } from './measure.ts'
import { requestCase, type RequestCase } from './requests.ts'
import { sendFrames } from './send-frames.ts'
import { sendRequest } from './send-request.ts'
import { absentPeer, targetsOf, type Targets } from './targets.ts'

export type FuzzOptions = { requests: number; frames: number; seed: number; log: (line: string) => void }

export type FuzzRun = {
  /** What breaks the contract, each with the seed of its case and the input. */
  findings: string[]
  statuses: Map<number, number>
  /** Locks that were not to be had within their limit. */
  lockTimeouts: number
  frames: { sent: number; sockets: number; ready: number }
  before: Holdings
  after: Holdings
}

type Instance = Awaited<ReturnType<typeof startInstance>>
type Run = { instance: Instance; targets: Targets; agent: Agent; result: FuzzRun; log: FuzzOptions['log'] }

const concurrency = 16
const jwtSecret = 'a secret of the fuzz test, only for it'
/** Cases before the first measurement: connections are pooled and code is compiled by then. */
const warmUpCases = 500
/** Seeds of sockets, apart from those of requests. */
const socketSeeds = 1_000_000_000
const settleLimitMs = 5_000
const findingsMax = 50
/** So many locks or connections that were not to be had in time are a finding, on any machine. */
const lockTimeoutsMax = 20

/** Sends mutated requests and frames to an embedded instance of its own, and measures what it holds before and after. */
export async function runFuzz({ requests, frames, seed, log }: FuzzOptions): Promise<FuzzRun> {
  using _offline = refuseNames()
  await using instance = await startInstance({
    TRUST_PROXY: 'loopback',
    JWT_SECRET: jwtSecret,
    FEDERATION_RESOLVE: `${absentPeer}=127.0.0.1:1`,
    HASHING_QUEUE: '4',
  })
  const { admin, accounts } = await insertAccounts(instance.databaseUrl, jwtSecret, 400)
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const frameCounts = { sent: 0, sockets: 0, ready: 0 }
  const before = measureHoldings()
  const result: FuzzRun = {
    findings: [],
    statuses: new Map(),
    lockTimeouts: 0,
    frames: frameCounts,
    before,
    after: before,
  }
  const run: Run = { instance, targets: targetsOf(admin, accounts, Date.now()), agent, result, log }

  const warmUp = Math.min(warmUpCases, Math.floor(requests / 4))
  const warmUpFrames = Math.min(warmUpCases, Math.floor(frames / 4))
  await sendRequests(run, seed, 0, warmUp)
  await sendSockets(run, seed, 0, warmUpFrames)
  result.before = measureHoldings()
  await sendRequests(run, seed, warmUp, requests)
  await sendSockets(run, seed, warmUpFrames, frames)
  agent.destroy()
  await waitForDescriptors(result.before.descriptors, settleLimitMs)
  collectLog(run, 'at the end')
  result.after = measureHoldings()
  if (result.lockTimeouts >= lockTimeoutsMax)
    find(run, `${result.lockTimeouts} locks or connections were not to be had in time`)
  result.findings.push(...(await judgeHealth(run)))
  return result
}

/** No name is looked up outside: mutated hosts exist nowhere. */
function refuseNames(): Disposable {
  const resolver = dns.Resolver.prototype
  const { resolve4, resolve6 } = resolver
  const refuse = () => Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }))
  Object.assign(resolver, { resolve4: refuse, resolve6: refuse })
  return { [Symbol.dispose]: () => void Object.assign(resolver, { resolve4, resolve6 }) }
}

async function sendRequests(run: Run, seed: number, from: number, to: number): Promise<void> {
  let next = from
  await inParallel(async () => {
    const at = next++
    if (at >= to) return false
    if (at > 0 && at % 10_000 === 0) run.log(`${at} requests, ${run.result.findings.length} findings`)
    await sendCase(run, seed + at)
    return true
  })
}

async function sendCase(run: Run, seed: number): Promise<void> {
  const request = requestCase(seed, run.targets)
  try {
    const answer = await sendRequest(run.instance.url, request, run.agent)
    const [status = 0] = answer.statuses
    run.result.statuses.set(status, (run.result.statuses.get(status) ?? 0) + 1)
    const problem = judgeAnswer(request, answer)
    if (problem) find(run, `seed ${seed}, ${describeRequest(request)}: ${problem}`)
  } catch (error) {
    find(run, `seed ${seed}, ${describeRequest(request)}: ${String(error)}`)
  }
  collectLog(run, `seed ${seed} or one beside it, ${describeRequest(request)}`)
}

async function sendSockets(run: Run, seed: number, from: number, to: number): Promise<void> {
  const { frames } = run.result
  let planned = from
  await inParallel(async () => {
    if (planned >= to) return false
    const caseSeed = socketSeeds + seed + planned
    const socket = socketCase(caseSeed, run.targets, to - planned)
    planned += socket.frames.length
    const { sent, ready, problem } = await sendFrames(run.instance.url, socket)
    frames.sent += sent
    frames.sockets += 1
    frames.ready += Number(ready)
    const input = `socket seed ${caseSeed}, ${socket.frames
      .map((frame) => frame.toString('base64').slice(0, 200))
      .join(' ')
      .slice(0, 600)}`
    if (problem) find(run, `${input}: ${problem}`)
    collectLog(run, input)
    return true
  })
}

async function inParallel(work: () => Promise<boolean>): Promise<void> {
  const workers = Array.from({ length: concurrency }, async () => {
    while (await work());
  })
  await Promise.all(workers)
}

/** Takes the lines of the instance's log; those of level error and above are findings. */
function collectLog(run: Run, input: string): void {
  for (const line of run.instance.log.splice(0)) {
    const judged = judgeLogLine(line)
    if (judged === 'busy') run.result.lockTimeouts += 1
    if (judged === 'fault')
      find(run, `log at error level, ${input}: ${String(line.msg)} ${JSON.stringify(line).slice(0, 600)}`)
  }
}

function find({ result }: Run, finding: string): void {
  if (result.findings.length < findingsMax) result.findings.push(finding)
}

function describeRequest({ endpoint, method, path, headers, body, bytes }: RequestCase): string {
  if (bytes) return `${endpoint}, raw ${JSON.stringify(bytes.toString('latin1').slice(0, 1_500))}`
  const { Authorization: _secret, ...shown } = headers
  return `${endpoint}, ${method} ${path} ${JSON.stringify(shown)} ${body.toString('latin1').slice(0, 600)}`.slice(
    0,
    1_500,
  )
}

/** The instance still works: it answers, and a new socket becomes ready. */
async function judgeHealth({ instance, targets }: Run): Promise<string[]> {
  const { admin } = targets
  const self = await fetch(`${instance.url}/api/users/@me`, { headers: { Authorization: `Bearer ${admin.token}` } })
  await self.text()
  const socket = await sendFrames(instance.url, {
    address: '192.0.2.1',
    account: admin,
    frames: [],
    end: 'close-frame',
  })
  return [
    ...(self.status === 200 ? [] : [`afterwards the admin's account answers ${self.status}`]),
    ...(socket.ready ? [] : ['afterwards a new socket is not ready']),
  ]
}
