import { expect } from 'chai'
import { sendText } from './send-text.ts'
import { type SessionSocket, encodeMessage } from './session-socket.ts'

const mebibyte = 1024 * 1024

describe('a slow reader', () => {
  it('is terminated above 1 MiB that waits for its socket, and not below', () => {
    const [below, above] = [socketWith(mebibyte), socketWith(mebibyte + 1)]

    expect(outcomeOf(below, [below])).to.equal('sent')
    expect(outcomeOf(above, [above])).to.equal('terminated')
  })

  it('is terminated above 4 MiB that wait for all sockets of the account, and not below', () => {
    const sockets = Array.from({ length: 32 }, () => socketWith(mebibyte / 8))
    expect(outcomeOf(sockets[0]!, sockets)).to.equal('sent')

    expect(outcomeOf(sockets[0]!, [...sockets, socketWith(1)])).to.equal('terminated')
  })

  it('is not who waits for a large ready: only what comes after it counts', () => {
    const [below, above] = [socketWith(9 * mebibyte, 8 * mebibyte), socketWith(9 * mebibyte + 1, 8 * mebibyte)]

    expect(outcomeOf(below, [below])).to.equal('sent')
    expect(outcomeOf(above, [above])).to.equal('terminated')
  })

  it('is not who reads, however much waits for others of the account', () => {
    const reading = socketWith(1_000)
    const waiting = Array.from({ length: 8 }, () => socketWith(mebibyte))

    expect(outcomeOf(reading, [reading, ...waiting])).to.equal('sent')
  })
})

type FakeSocket = { bufferedAmount: number; unsentReadyBytes: number; outcome?: 'sent' | 'terminated' }

function socketWith(bufferedAmount: number, unsentReadyBytes = 0): FakeSocket {
  return { bufferedAmount, unsentReadyBytes }
}

function outcomeOf(socket: FakeSocket, sockets: FakeSocket[]): FakeSocket['outcome'] {
  const open = Object.assign(socket, {
    readyState: 1,
    OPEN: 1,
    siblings: new Set(sockets),
    send: () => void (socket.outcome = 'sent'),
    terminate: () => void (socket.outcome = 'terminated'),
  })
  const deps = { sessionMetrics: { slowReaders: { inc: () => undefined } } } as unknown as Parameters<
    typeof sendText
  >[0]
  sendText(deps, open as unknown as SessionSocket, encodeMessage({ type: 'pong' }))
  return socket.outcome
}
