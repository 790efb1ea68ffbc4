import { connect } from 'node:net'
import { tell } from './child.ts'

type Order = { port: number; connections: number; seconds: number; requests: string[] }
export type Measured = { requests: number; perSecond: number; p50Ms: number; p99Ms: number; errors: number }

/** Keeps so many connections busy for so long, each with one request at a time, and tells what it saw. */
process.on('message', (order: Order) => {
  void run(order).then((measured) => tell(measured))
})
tell({ port: 0 })

async function run({ port, connections, seconds, requests }: Order): Promise<Measured> {
  const latencies: number[] = []
  let errors = 0
  const started = performance.now()
  const endsAt = started + seconds * 1000
  const texts = requests.map((request) => Buffer.from(request))
  let next = 0
  const keepBusy = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let askedAt = 0
      let remainingBytes = -1
      const ask = (): void => {
        if (performance.now() >= endsAt) {
          socket.destroy()
          return resolve()
        }
        askedAt = performance.now()
        remainingBytes = -1
        socket.write(texts[next++ % texts.length]!)
      }
      socket.on('connect', ask)
      socket.on('data', (piece: Buffer) => {
        if (remainingBytes === -1) remainingBytes = lengthOf(piece)
        else remainingBytes -= piece.length
        if (remainingBytes > 0) return
        latencies.push(performance.now() - askedAt)
        if (piece.length < 12) errors += 1
        ask()
      })
      const fail = (): void => {
        errors += 1
        resolve()
      }
      socket.on('error', fail)
      socket.on('end', fail)

      /** What is still to come of an answer that begins here. */
      function lengthOf(piece: Buffer): number {
        const head = piece.indexOf('\r\n\r\n')
        const text = piece.toString('latin1', 0, head)
        if (!text.startsWith('HTTP/1.1 200')) errors += 1
        if (/\r\ntransfer-encoding: chunked/i.test(text)) return piece.includes('0\r\n\r\n', head) ? 0 : 1
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1])
        return head + 4 + length - piece.length
      }
    })
  await Promise.all(Array.from({ length: connections }, keepBusy))
  const took = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
  return { requests: latencies.length, perSecond: latencies.length / took, p50Ms: at(0.5), p99Ms: at(0.99), errors }
}
