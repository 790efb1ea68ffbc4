import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startInstance } from './instance.ts'

const run = promisify(execFile)
const useFrom = (origin: string) => run('python3', ['-B', join(import.meta.dirname, 'openapi-client.py'), origin])

/** Contract: 8, public routes of the gateway. */
describe('The OpenAPI document, in the hands of a client in Python that knows nothing else', () => {
  it('leads through an instance, and describes what comes, refusals too', async () => {
    await using instance = await startInstance()

    const { stdout } = await useFrom(instance.url)

    expect(stdout).to.match(/^\d+ operations, \d+ schemas/)
  })

  it('is missed where an answer lacks what it says', async () => {
    await using instance = await startInstance()
    const server = createServer((request, response) => {
      void (async () => {
        const { url = '', method = '', headers } = request
        const body = method === 'GET' ? undefined : await text(request)
        const { authorization = '', 'content-type': type = '' } = headers
        const sent = { ...(authorization && { authorization }), ...(type && { 'content-type': type }) }
        const answer = await fetch(instance.url + url, { method, headers: sent, ...(body && { body }) })
        const given = await answer.text()
        response
          .writeHead(answer.status)
          .end(url.endsWith('openapi.json') ? given.replaceAll('"username"', '"nick"') : given)
      })()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const outcome = await useFrom(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).catch(
      ({ stderr }: { stderr: string }) => stderr,
    )
    server.close()

    expect(outcome).to.match(/nick: is missing/)
  })
})
