// oidc-provider alone: no gateway, no database, one application and its people's tokens in memory. It tells its port, and the tokens.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Payload } from 'oidc-provider'
import { tell } from '../gateway/child.ts'

const people = 200
const client = { client_id: '1', client_secret: 's'.repeat(43), redirect_uris: ['https://wiki.example/callback'] }

type Saved = { save(ttl: number): Promise<string> }
type Models = {
  Client: { find(id: string): Promise<unknown> }
  Grant: new (of: Payload) => Saved & { addOIDCScope(scope: string): void }
  AccessToken: new (of: Payload) => Saved
}

const rows = new Map<string, Payload>([['Client 1', client]])
const adapter = (model: string) => ({
  // The library changes what it gets.
  find: async (id: string) => structuredClone(rows.get(`${model} ${id}`)),
  upsert: async (id: string, payload: Payload) => void rows.set(`${model} ${id}`, payload),
})
const provider = new Provider('http://127.0.0.1', {
  adapter,
  cookies: { keys: ['bench'] },
  features: { devInteractions: { enabled: false }, introspection: { enabled: true }, dPoP: { enabled: false } },
})

async function createToken(person: number): Promise<string> {
  const { Client, Grant, AccessToken } = provider as unknown as Models
  const [accountId, clientId, scope] = [String(person), '1', 'openid profile']
  const grant = new Grant({ accountId, clientId })
  grant.addOIDCScope(scope)
  const grantId = await grant.save(86_400)
  return await new AccessToken({ client: await Client.find('1'), accountId, grantId, scope }).save(86_400)
}

const tokens: string[] = []
for (let person = 0; person < people; person += 1) tokens.push(await createToken(person))
const answer = provider.callback()
const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
await once(server, 'listening')
const authorization = `Basic ${Buffer.from(`1:${client.client_secret}`).toString('base64')}`
tell({ port: (server.address() as AddressInfo).port, tokens, authorization })
