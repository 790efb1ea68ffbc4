import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { configure, ConfigurationError, listSettings, settings } from '@gatehouse/service-kit'
import { roles, type Role } from './roles.ts'

export type ClusterConfig = ReturnType<typeof readClusterConfig>

const maxReplicas = 16

/** `--gateway 2 --identity 3`, by default two of each. Throws ConfigurationError with every fault. */
export function readClusterConfig(flags: string[], environment: Readonly<Record<string, string | undefined>>) {
  const { PORT, GATEHOUSE_DATA } = settings
  const forwarded = listSettings().filter(({ chosenBy }) => !chosenBy?.includes('cluster'))
  const texts = Object.fromEntries(forwarded.map(({ name }) => [name, z.string().optional()]))
  const own = { PORT: PORT.kind, GATEHOUSE_DATA: GATEHOUSE_DATA.kind }
  return configure(environment, { ...texts, ...own }, (given, part) => {
    const { PORT: port, GATEHOUSE_DATA: folder, ...found } = given
    return {
      replicas: part(() => readReplicas(flags)),
      /** Of the first gateway. */
      port,
      dataFolder: part(() => resolve(folder)),
      forwarded: Object.fromEntries(Object.entries(found).filter(([, value]) => value)) as Record<string, string>,
    }
  })
}

function readReplicas(flags: string[]): Record<Role, number> {
  const options = Object.fromEntries(roles.map((role) => [role, { type: 'string' as const, default: '2' }]))
  let values: Record<string, unknown>
  try {
    values = parseArgs({ args: flags, options }).values
  } catch {
    throw new ConfigurationError([`flags: only ${roles.map((role) => `--${role} N`).join(', ')} are known`])
  }
  const isCount = (value: unknown) => /^[1-9][0-9]?$/.test(String(value)) && Number(value) <= maxReplicas
  const faults = roles.filter((role) => !isCount(values[role]))
  if (faults.length > 0)
    throw new ConfigurationError(faults.map((role) => `--${role}: must be a whole number from 1 to ${maxReplicas}`))
  return Object.fromEntries(roles.map((role) => [role, Number(values[role])])) as Record<Role, number>
}
