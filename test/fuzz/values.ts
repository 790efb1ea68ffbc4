import type { Random } from './random.ts'

/** What a valid value of a field may be, by the field's name. */
export type ValidValues = Readonly<Record<string, readonly unknown[]>>

/** The part of JSON Schema that the endpoints' schemas use. */
export type JsonSchema = {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  minimum?: number
}

/** Texts that have broken parsers, encoders and databases. */
export const hostileTexts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202e\u2066',
  '\ufeff',
  '🏳️‍🌈'.repeat(40),
  'é'.normalize('NFD'),
  'İ',
  'ß',
  "' or 1=1 --",
  '%00',
  '%',
  '\\',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  '<script>',
  '${1+1}',
  '\r\nX-Injected: 1',
  '9223372036854775807',
  '9223372036854775808',
  '-1',
  '0',
  '00',
  '1e3',
  'NaN',
  'null',
  'a'.repeat(101),
  'a'.repeat(5_000),
]

const hostileValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 63),
  253_402_300_800_000,
  [],
  {},
  [[]],
  [null],
  { length: 1 },
  { then: 1 },
  { toString: null },
  { $ref: '#' },
]

/** One of the hostile values. */
export function hostileValue(random: Random): unknown {
  if (random.chance(0.5)) return random.pick(hostileTexts)
  if (random.chance(0.1)) return JSON.parse('{"__proto__":{"isAdmin":true}}') as unknown
  if (random.chance(0.05)) return nested(1 + random.below(3_000))
  return random.pick(hostileValues)
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** A value that the schema accepts as far as this reads it. */
export function sampleSchema(schema: JsonSchema, validValues: ValidValues, random: Random, name = ''): unknown {
  const variants = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if ('const' in schema) return schema.const
  if (schema.enum) return random.pick(schema.enum)
  if (variants) return sampleSchema(random.pick(variants), validValues, random, name)
  if (validValues[name] && schema.type !== 'array' && schema.type !== 'object') return random.pick(validValues[name])
  switch (schema.type) {
    case 'object':
      return sampleObject(schema, validValues, random)
    case 'array': {
      const items = schema.items ?? {}
      return Array.from({ length: random.below(4) }, () => sampleSchema(items, validValues, random, name))
    }
    case 'string':
      return random.chance(0.7) ? `text${random.below(1_000)}` : random.pick(hostileTexts)
    case 'number':
    case 'integer':
      return Math.max(schema.minimum ?? 0, random.below(1_000))
    case 'boolean':
      return random.chance(0.5)
    case 'null':
      return null
    case undefined:
    default:
      return hostileValue(random)
  }
}

function sampleObject(
  { properties = {} }: JsonSchema,
  validValues: ValidValues,
  random: Random,
): Record<string, unknown> {
  const entries = Object.entries(properties).filter(() => random.chance(0.93))
  return Object.fromEntries(entries.map(([name, field]) => [name, sampleSchema(field, validValues, random, name)]))
}

/** Changes one place of a value: a field gone, added, or of another type. */
export function mutateValue(value: unknown, random: Random): unknown {
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(0.2)) return hostileValue(random)
    if (random.chance(0.1)) return Array.from({ length: 1 + random.below(200) }, () => value[0] as unknown)
    const at = random.below(value.length)
    return value.map((item: unknown, index) => (index === at ? mutateValue(item, random) : item))
  }
  if (typeof value !== 'object' || value === null) return hostileValue(random)
  const names = Object.keys(value)
  if (names.length === 0 || random.chance(0.1)) return hostileValue(random)
  const name = random.pick(names)
  const fields = value as Record<string, unknown>
  if (random.chance(0.15)) return Object.fromEntries(Object.entries(fields).filter(([other]) => other !== name))
  if (random.chance(0.1)) return { ...fields, [random.pick(hostileTexts)]: hostileValue(random) }
  return { ...fields, [name]: mutateValue(fields[name], random) }
}

/** Changes some bytes: flipped, removed, repeated, inserted, or all behind one cut off. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  let mutated = bytes
  for (let count = 1 + random.below(4); count > 0; count -= 1) mutated = mutateOnce(mutated, random)
  return mutated
}

function mutateOnce(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const end = Math.min(bytes.length, at + 1 + random.below(8))
  const [head, middle, tail] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)]
  switch (random.below(5)) {
    case 0:
      return Buffer.concat([head, middle.map((byte) => byte ^ (1 << random.below(8))), tail])
    case 1:
      return Buffer.concat([head, tail])
    case 2:
      return Buffer.concat([head, middle, middle, middle, tail])
    case 3:
      return Buffer.concat([head, Buffer.from([random.below(256), random.below(256)]), middle, tail])
    default:
      return random.chance(0.3) ? head : bytes
  }
}
