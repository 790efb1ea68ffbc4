import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** How many instances answer; the first argument. One more, the last port printed, takes requests and never answers. */
const count = Number(process.argv[2])

const answer: RequestListener = (request, response) => {
  void text(request).then((body) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(request.method === 'POST' ? accept(body) : '{"success":true}')
  })
}

/** Of a relay: every event. */
function accept(body: string): string {
  const { events } = JSON.parse(body) as { events: { messageId: string }[] }
  return JSON.stringify({ accepted: events.map(({ messageId }) => messageId), rejected: [] })
}

async function listenOnFreePort(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const ports = await Promise.all(Array.from({ length: count }, () => listenOnFreePort(answer)))
const stalled = await listenOnFreePort(() => undefined)
process.send!([...ports, stalled])
process.on('disconnect', () => process.exit(0))
