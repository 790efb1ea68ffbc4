import * as contracts from '@gatehouse/contracts'
import { z } from 'zod'

/** JSON Schema, as far as messages use it. */
export type Schema = {
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  [keyword: string]: unknown
}

/** What a release says on the bus: the schema of each subject, of a call its request and reply. */
export type Subjects = Record<string, Schema>

/** The subjects of this release. */
export function listSubjects(): Subjects {
  const subjects: Subjects = {}
  for (const definition of Object.values(contracts) as unknown[]) {
    if (isEvent(definition)) subjects[definition.subject] = schemaOf(definition.payload)
    if (isCall(definition)) {
      subjects[`${definition.subject} request`] = schemaOf(definition.request)
      subjects[`${definition.subject} reply`] = schemaOf(definition.reply)
    }
  }
  return subjects
}

// Without the names of schemas, so that each subject has its own in full.
const schemaOf = (schema: z.ZodType): Schema =>
  JSON.parse(
    JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', metadata: z.registry() })),
  ) as Schema

const hasKind = (value: unknown, kind: string): boolean =>
  typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === kind
const isEvent = (value: unknown): value is contracts.EventDefinition => hasKind(value, 'event')
const isCall = (value: unknown): value is contracts.CallDefinition => hasKind(value, 'call')

/**
 * Why processes with these two schemas do not understand each other; empty when they do. A message may gain optional
 * fields; a field that is known keeps its schema and stays required or optional.
 */
export function listIncompatibilities(released: Schema, current: Schema, path = ''): string[] {
  const properties = Object.entries(released.properties ?? {})
  const faults = properties.flatMap(([name, schema]) => {
    const now = current.properties?.[name]
    return now ? listIncompatibilities(schema, now, `${path}.${name}`) : [`${path}.${name} is gone`]
  })
  const required = new Set(released.required)
  const requiredNow = new Set(current.required)
  faults.push(
    ...[...requiredNow].filter((name) => !required.has(name)).map((name) => `${path}.${name} became required`),
  )
  faults.push(
    ...[...required].filter((name) => !requiredNow.has(name)).map((name) => `${path}.${name} became optional`),
  )
  if (released.items && current.items) faults.push(...listIncompatibilities(released.items, current.items, `${path}[]`))
  if (keywordsOf(released) !== keywordsOf(current)) faults.push(`${path || 'it'} has another schema`)
  return faults
}

/** What is compared as it stands: everything but fields and elements. */
function keywordsOf({ properties, required, items, ...keywords }: Schema): string {
  return JSON.stringify({ ...keywords, hasItems: items !== undefined, hasFields: !!properties || !!required }, sorted)
}

const sorted = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => a.localeCompare(b)))
    : value
