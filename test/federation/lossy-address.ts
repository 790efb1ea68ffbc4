import { once } from 'node:events'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LossyAddress = AsyncDisposable & {
  address: string
  /** The next answer to a request to this path is lost after the request has taken effect. */
  loseAnswerTo(path: string): void
  /** Where requests go from now on. */
  leadTo(target: string): void
}

/** An address that leads to an instance, over which answers may be lost. */
export async function startLossyAddress(target: string): Promise<LossyAddress> {
  let url = target
  const lossPaths: string[] = []
  const server = createServer((incoming, response) => {
    const { method = 'GET', headers, url: path = '/' } = incoming
    const outgoing = sendRequest(`${url}${path}`, { method, headers }, (answer) => {
      const index = lossPaths.indexOf(path)
      if (index !== -1) {
        lossPaths.splice(index, 1)
        answer.resume()
        answer.once('end', () => response.destroy())
        return
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswerTo: (path) => void lossPaths.push(path),
    leadTo: (other) => void (url = other),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
