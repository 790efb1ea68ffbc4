import { existsSync, readFileSync, readdirSync } from 'node:fs'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { isRefusal } from '@gatehouse/runtime'
import { createMetrics, type Metrics } from '@gatehouse/service-kit'
import { capturedLog, eventually } from '@gatehouse/test-kit'
import { startPasswordHasher, type PasswordHasher } from './password-hasher.ts'

const password = 'correct horse battery'
const quickHash = bcrypt.hashSync(password, 4)
const slowHash = '$2b$12$SABb/N/Pj9aB1rMxt9wUnuHNFUnndzJcZ3m76ea.dRaDrYa4XkXZG'

/** An address in a network that no other job has. */
let networks = 0
function elsewhere(): string {
  networks += 1
  return `10.0.${networks}.1`
}

describe('the password hasher', () => {
  const { log, lines } = capturedLog()
  let metrics: Metrics
  let hasher: PasswordHasher

  beforeEach(() => {
    metrics = createMetrics()
    hasher = startPasswordHasher({ threads: 1, queue: 2, log, metrics })
  })
  afterEach(async () => await hasher[Symbol.asyncDispose]())

  it('makes salted bcrypt hashes of cost 12 that only their password fits', async () => {
    const hash = await hasher.hash(password, elsewhere())

    expect(bcrypt.getRounds(hash)).to.equal(12)
    expect(await hasher.verify(password, hash, elsewhere())).to.equal(true)
    expect(await hasher.verify(`${password}!`, hash, elsewhere())).to.equal(false)
  })

  it('verifies a password that another keyboard composes otherwise, with one job of the queue', async () => {
    const composed = 'Caf\u00e9 au lait'
    const decomposed = composed.normalize('NFD')
    const hashes = [composed, decomposed].map((text) => bcrypt.hashSync(text, 4))
    const own = await hasher.hash(decomposed, elsewhere())

    expect(await bcrypt.compare(composed, own)).to.equal(true)
    for (const hash of hashes) {
      expect(await hasher.verify(composed, hash, elsewhere())).to.equal(true)
      expect(await hasher.verify(decomposed, hash, elsewhere())).to.equal(true)
      expect(await hasher.verify('Cafe au lait', hash, elsewhere())).to.equal(false)
    }
    const full = await Promise.allSettled([1, 2, 3].map(() => hasher.verify(decomposed, hashes[0]!, elsewhere())))
    expect(full.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'fulfilled'])
  })

  it('treats an overlong password as wrong although bcrypt reads only its beginning', async () => {
    const longest = 'é'.repeat(36)
    const hash = bcrypt.hashSync(longest, 4)

    expect(await hasher.verify(longest, hash, elsewhere())).to.equal(true)
    expect(await hasher.verify(`${longest}!`, hash, elsewhere())).to.equal(false)
  })

  it('refuses with 503 and Retry-After what exceeds the queue, and completes the rest', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => hasher.verify(password, quickHash, elsewhere())),
    )

    expect(outcomes.map(({ status }) => status).filter((status) => status === 'fulfilled')).to.have.length(3)
    expect(refusalsOf(outcomes)).to.deep.equal([
      ['hashing_busy', { 'Retry-After': '2' }],
      ['hashing_busy', { 'Retry-After': '2' }],
    ])
  })

  it('refuses with 503 and Retry-After what still waits at the limit of a drain, and completes what runs', async () => {
    const running = hasher.verify(password, slowHash, elsewhere())
    const waiting = [1, 2].map(() => hasher.verify(password, slowHash, elsewhere()))
    hasher.drain(0)
    const outcomes = await Promise.allSettled(waiting)
    const later = await Promise.allSettled([hasher.hash(password, elsewhere())])

    expect(refusalsOf([...outcomes, ...later])).to.deep.equal(
      [1, 2, 3].map(() => ['hashing_busy', { 'Retry-After': '2' }]),
    )
    expect(await running).to.equal(false)
  })

  it('gives one network a quarter of the queue, whichever of its addresses ask, and the others the rest', async () => {
    await using own = startPasswordHasher({ threads: 1, queue: 20, log, metrics: createMetrics() })
    const attempt = (address: string) => own.verify(password, quickHash, address)
    const running = attempt('192.0.2.1')

    const subscriber = Array.from({ length: 256 }, (_, index) => attempt(`2001:db8:7:${index.toString(16)}::1`))
    const office = Array.from({ length: 8 }, (_, index) => attempt(`198.51.100.${index}`))
    const honest = [attempt('2001:db8:8::1'), attempt('198.51.101.1'), attempt('203.0.113.9')]

    const taken = async (jobs: Promise<boolean>[]) =>
      (await Promise.allSettled(jobs)).filter(({ status }) => status === 'fulfilled').length
    expect(await Promise.all([taken(subscriber), taken(office), taken(honest), running])).to.deep.equal([5, 5, 3, true])
    expect(refusalsOf(await Promise.allSettled(subscriber))[0]).to.deep.equal(['hashing_busy', { 'Retry-After': '2' }])
    expect(await attempt('2001:db8:7::1')).to.equal(true)
  })

  it('measures the queue', async () => {
    const works = Array.from({ length: 3 }, () => hasher.verify(password, slowHash, elsewhere()))

    expect(hasher.waiting()).to.equal(2)
    expect((await metrics.render()).text).to.contain('gatehouse_hashing_waiting 2')
    await Promise.all(works)
    expect(hasher.waiting()).to.equal(0)
  })

  it('continues when its process is killed: running jobs are refused with 503, waiting ones are completed', async () => {
    await hasher.verify(password, quickHash, elsewhere())
    const running = hasher.verify(password, slowHash, elsewhere())
    const waiting = hasher.verify(password, quickHash, elsewhere())
    const outcome = Promise.allSettled([running])

    process.kill(hashingPid(), 'SIGKILL')

    expect(refusalsOf(await outcome)).to.deep.equal([['unavailable', { 'Retry-After': '1' }]])
    expect(await waiting).to.equal(true)
    expect(lines.filter(({ msg }) => String(msg).includes('hashing process ended'))).to.have.length(1)
  })

  it('refuses all jobs while a process that completed none is being replaced, and then continues', async () => {
    const outcomes = Promise.allSettled([
      hasher.verify(password, slowHash, elsewhere()),
      hasher.verify(password, quickHash, elsewhere()),
    ])

    process.kill(hashingPid(), 'SIGKILL')

    expect(refusalsOf(await outcomes)).to.have.length(2)
    expect(hasher.ready()).to.equal(false)
    await eventually('another process', () => hasher.ready())
    expect(await hasher.verify(password, quickHash, elsewhere())).to.equal(true)
  })

  it('refuses running jobs when it is closed', async () => {
    const outcomes = Promise.allSettled([
      hasher.verify(password, slowHash, elsewhere()),
      hasher.verify(password, slowHash, elsewhere()),
    ])

    await hasher[Symbol.asyncDispose]()

    expect(refusalsOf(await outcomes)).to.have.length(2)
  })

  if (process.platform === 'linux') {
    it('hashes in threads of the lowest priority, in a process without the secrets of the service', async () => {
      process.env['JWT_SECRET'] = 'a secret that stays in this process'
      await using own = startPasswordHasher({ threads: 2, queue: 2, log, metrics })
      delete process.env['JWT_SECRET']
      const ownSession = sessionOf(process.pid)
      await Promise.all([own.verify(password, quickHash, elsewhere()), own.verify(password, quickHash, elsewhere())])

      const pid = hashingPid()
      const workers = readdirSync(`/proc/${pid}/task`)
        .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))
        .filter((stat) => stat.includes('(libuv-worker)'))
      expect(workers.map(niceOf)).to.deep.equal([19, 19])
      // Where the kernel gives sessions a priority: a low one for that of the process, and its own is left alone.
      if (ownSession) {
        await eventually('the priority of the session', () => / nice 3$/m.test(sessionOf(pid)))
        expect(sessionOf(process.pid)).to.equal(ownSession)
      }
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).to.not.contain('a secret')
    })
  }
})

/** Field 19 of proc_pid_stat(5), counted behind the name, which may hold anything. */
const niceOf = (stat: string) => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])

/** What proc_pid_autogroup says: `/autogroup-123 nice 0`, or nothing where priorities count alike in all sessions. */
function sessionOf(pid: number): string {
  const file = `/proc/${pid}/autogroup`
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** The newest hashing child of this process. */
function hashingPid(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number)
  const hashing = children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('hashing-process'))
  return hashing.at(-1)!
}

function refusalsOf(outcomes: readonly PromiseSettledResult<unknown>[]) {
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
  return errors.filter(isRefusal).map(({ code, headers }) => [code, headers])
}
