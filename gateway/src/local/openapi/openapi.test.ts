import { expect } from 'chai'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import { endpointTable } from '@gatehouse/contracts/endpoints'
import { createOpenApi, type Operation, type Schema } from './openapi.ts'

const document = createOpenApi()
const { schemas } = document.components

/** What a client may send as the body, by field; of a nullable field what it is when not null. */
function bodyFields(path: string, method: string): Record<string, Schema> {
  const { properties = {} } = document.paths[path]![method]!.requestBody!.content['application/json']!.schema
  const given = ({ anyOf, ...schema }: Schema) => anyOf?.find(({ type }) => type !== 'null') ?? schema
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, given(schema)]))
}

/** An admin is a caller with a bearer token who may get `admin_required`. */
function callerOf({ security = [], responses }: Operation): string {
  const [scheme = 'anyone'] = security.flatMap((schemes) => Object.keys(schemes))
  const isForAdmins = JSON.stringify(responses[403] ?? {}).includes('/AdminRequiredRefusal"')
  return isForAdmins && scheme === 'bearer' ? 'admin' : scheme
}

describe('The OpenAPI document', () => {
  it('has each endpoint with its callers, and besides only what the gateway serves itself', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const address = path.replace(/\{(\w+)\}/g, ':$1')
        return `${method.toUpperCase()} ${address} ${callerOf(operation)}`
      }),
    )
    const table = Object.values(endpointTable).map(({ method, path, access }) => `${method} ${path} ${access}`)

    expect(described).to.have.members([...table, 'GET /api/health anyone', 'GET /api/upstream-keys anyone'])
  })

  it('has each schema of fields or of choices once', () => {
    const places = new Map<string, string[]>()
    const collect = (value: unknown, place: string) => {
      if (typeof value !== 'object' || value === null) return
      const text = JSON.stringify(value)
      if ('properties' in value || 'enum' in value) places.set(text, [...(places.get(text) ?? []), place])
      for (const [key, part] of Object.entries(value)) collect(part, `${place}/${key}`)
    }
    collect(document, '')

    expect([...places.values()].filter(({ length }) => length > 1)).to.deep.equal([])
  })

  it('has a component for whatever is referred to, and refers to each', () => {
    const named = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    )

    expect([...new Set(named), 'Refusal']).to.have.members(Object.keys(schemas))
  })

  it('requires a body only where none is refused', () => {
    const required = (path: string, method: string) => document.paths[path]![method]!.requestBody!.required

    expect(required('/api/auth/login', 'post')).to.equal(true)
    expect(required('/api/uploads', 'post')).to.equal(true)
    expect(required('/api/admin/invites/{id}/reinstate', 'post')).to.equal(false)
    expect(required('/api/admin/users/{id}/suspend', 'post')).to.equal(false)
    expect(required('/api/users/@me', 'patch')).to.equal(true)
  })

  it('names the limits of texts', () => {
    const registered = bodyFields('/api/auth/register', 'post')
    const edited = bodyFields('/api/users/@me', 'patch')

    expect(registered['username']).to.include({ minLength: 3, maxLength: 100 })
    expect(registered['password']).to.include({ minLength: 8, maxLength: 72 })
    expect(registered['displayName']).to.include({ maxLength: 32 })
    expect(edited['displayName']).to.include({ maxLength: 32 })
    expect(edited['bio']).to.include({ maxLength: 190 })
    expect(edited['customStatus']).to.include({ maxLength: 128 })
    expect(edited['accentColor']).to.include({ pattern: '^(#[0-9a-fA-F]{6})?$' })
    expect(bodyFields('/api/admin/invites', 'post')['name']).to.include({ minLength: 1, maxLength: 64 })
  })

  it('makes a typed client that names users, invites and refusals', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-openapi-'))
    const program = `
import type { components, operations } from './api.ts'
type User = components['schemas']['User']
type Invite = components['schemas']['Invite']
type Refusal = components['schemas']['Refusal']
type Body = operations['patchSelf']['requestBody']['content']['application/json']
type Reply<N extends 'getSelf' | 'createInvite', S extends number> =
  operations[N]['responses'] extends Record<S, { content: { 'application/json': infer R } }> ? R : never
export const nameOf = (user: Reply<'getSelf', 200>): User['displayName'] => user.displayName
export const urlOf = (invite: Reply<'createInvite', 201>): Invite['url'] => invite.url
export const change: Body = { bio: null, avatarColor: 'mint' }
export const limitOf = (refusal: Refusal) =>
  'code' in refusal && refusal.code === 'bio_too_long' ? refusal.details.max : refusal.statusCode
// @ts-expect-error -- there is no such field
export const other: Body = { nickname: 'Al' }
// @ts-expect-error -- there is no such code
export const isOther = (refusal: Refusal) => 'code' in refusal && refusal.code === 'bio_long'
`
    try {
      const client = astToString(await openapiTS(document as unknown as OpenAPI3))
      await writeFile(join(folder, 'api.ts'), client)
      await writeFile(join(folder, 'use.ts'), program)
      const options = { strict: true, noEmit: true, types: [], allowImportingTsExtensions: true }
      const problems = ts.getPreEmitDiagnostics(
        ts.createProgram([join(folder, 'use.ts')], {
          ...options,
          module: ts.ModuleKind.NodeNext,
          target: ts.ScriptTarget.ES2024,
        }),
      )

      expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).to.deep.equal([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
