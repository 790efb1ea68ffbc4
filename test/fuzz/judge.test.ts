import { expect } from 'chai'
import { textFrame } from './frames.ts'
import { holdingsGrowth } from './growth.ts'
import { judgeAnswer, judgeLogLine } from './judge.ts'
import { requestCase, type RequestCase } from './requests.ts'
import type { Answer } from './send-request.ts'
import { judgeFrames, parseFrames } from './server-frames.ts'
import { targetsOf } from './targets.ts'

const account = { id: '1', username: 'ada', token: 'a.b.c', isFederated: false }
const targets = targetsOf(account, [account], 0)

const request = (given: Partial<RequestCase> = {}): RequestCase => ({
  endpoint: 'getSelf',
  callsPeers: false,
  method: 'GET',
  path: '/',
  headers: {},
  body: Buffer.alloc(0),
  ...given,
})
const answer = (status: number, given: Partial<Answer> = {}): Answer => ({
  statuses: [status],
  headers: {},
  body: JSON.stringify({ error: 'No', statusCode: status }),
  ...given,
})

describe('the judgment of a response', () => {
  it('finds a 5xx, but for a limit that says when to return, and a peer that failed', () => {
    expect(judgeAnswer(request(), answer(500))).to.contain('status 500')
    expect(judgeAnswer(request(), answer(503))).to.contain('status 503')
    expect(judgeAnswer(request(), answer(503, { headers: { 'retry-after': '1' } }))).to.equal(undefined)
    expect(judgeAnswer(request(), answer(502))).to.contain('status 502')
    expect(judgeAnswer(request({ callsPeers: true }), answer(502))).to.equal(undefined)
    expect(judgeAnswer(request({ bytes: Buffer.from('x') }), answer(400, { statuses: [400, 500] }))).to.contain('500')
  })

  it('finds a refusal without the error body, and one that shows internals', () => {
    expect(judgeAnswer(request(), answer(404))).to.equal(undefined)
    expect(judgeAnswer(request(), answer(404, { body: 'Not Found' }))).to.contain('without the error body')
    const body = JSON.stringify({ error: 'TypeError: x is not a function', statusCode: 400 })
    expect(judgeAnswer(request(), answer(400, { body }))).to.contain('internals')
  })
})

describe('the judgment of the log', () => {
  it('finds what is logged as an error, but for a lock or a connection that was not to be had in time', () => {
    const timeout = (message: string) => ({ level: 50, err: { type: 'DatabaseUnavailable', message } })

    expect(judgeLogLine({ level: 40, msg: 'unusual' })).to.equal('fine')
    expect(judgeLogLine({ level: 50, msg: 'request failed', err: { type: 'TypeError' } })).to.equal('fault')
    expect(judgeLogLine({ level: 50, msg: 'failed' })).to.equal('fault')
    expect(judgeLogLine(timeout('the connection to PostgreSQL was refused or lost'))).to.equal('fault')
    const locked = 'PostgreSQL ended a statement in time: canceling statement due to lock timeout'
    expect(judgeLogLine(timeout(locked))).to.equal('busy')
    const pooled = 'the connection to PostgreSQL was refused or lost: timeout exceeded when trying to connect'
    expect(judgeLogLine(timeout(pooled))).to.equal('busy')
  })
})

describe('the judgment of frames', () => {
  it('finds a message that is none of the contract, and a close code that no client knows', () => {
    const closed = (code: number) => Buffer.from([0x88, 2, code >> 8, code & 0xff])

    expect(
      judgeFrames(parseFrames(Buffer.concat([Buffer.from('\x81\x0f{"type":"pong"}', 'latin1'), closed(4004)]))),
    ).to.equal(undefined)
    expect(judgeFrames(parseFrames(closed(3338)))).to.equal(undefined)
    expect(judgeFrames(parseFrames(closed(1011)))).to.contain('1011')
    expect(judgeFrames(parseFrames(Buffer.from('\x81\x02{}', 'latin1')))).to.contain('message {}')
  })
})

describe('the inputs', () => {
  it('are the same for the same seed', () => {
    for (const seed of [1, 2, 3]) expect(requestCase(seed, targets)).to.deep.equal(requestCase(seed, targets))
    expect(requestCase(1, targets)).not.to.deep.equal(requestCase(2, targets))
    expect(textFrame('a')).to.deep.equal(Buffer.from([0x81, 0x81, 1, 2, 3, 4, 0x60]))
  })
})

describe('the growth of an instance', () => {
  it('is found for descriptors and memory, each beyond its bound', () => {
    const before = { descriptors: 100, heapMiB: 80, rssMiB: 300 }

    expect(holdingsGrowth({ before, after: { descriptors: 148, heapMiB: 144, rssMiB: 556 } })).to.deep.equal([])
    expect(holdingsGrowth({ before, after: { descriptors: 149, heapMiB: 145, rssMiB: 557 } })).to.have.length(3)
  })
})
