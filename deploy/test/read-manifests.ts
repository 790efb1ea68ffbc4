import { readFileSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { ConfigurationError } from '@gatehouse/service-kit'
import { readConfig as readGateway } from '@gatehouse/gateway'
import { readConfig as readIdentity } from '@gatehouse/identity'
import { readConfig as readInvite } from '@gatehouse/invite'
import { readConfig as readSessionGateway } from '@gatehouse/session-gateway'
import { readConfig as readFederationFanout } from '@gatehouse/federation-fanout'
import { readConfig as readOpenid } from '@gatehouse/openid'
import { readConfig as readEmbedded } from '../embedded/config.ts'
import type { Role } from '../cluster/roles.ts'

export const projectRoot = resolve(import.meta.dirname, '../..')

type Environment = Readonly<Record<string, string | undefined>>
type Reader = (environment: Environment) => unknown

const readers: Record<Role, Reader> = {
  gateway: readGateway,
  identity: readIdentity,
  invite: readInvite,
  'session-gateway': readSessionGateway,
  'federation-fanout': readFederationFanout,
  openid: readOpenid,
}

/** The configuration that a process reads from an environment. */
export function readConfigOf(reader: Role | 'embedded', environment: Environment): unknown {
  return reader === 'embedded' ? readEmbedded(environment) : readers[reader](environment)
}

/** The variables that a process's readConfig reads, and those of them that have no default. */
export function variablesOf(role: Role | 'embedded'): { read: string[]; required: string[] } {
  const read = new Set<string>()
  const watched = new Proxy<Environment>({}, { get: (_empty, name) => void read.add(String(name)) })
  try {
    const reader: Reader = role === 'embedded' ? readEmbedded : readers[role]
    reader(role === 'embedded' ? withInvalidPort(watched, read) : watched)
    return { read: plainNames(read), required: [] }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    const required = [...error.message.matchAll(/^(\w+): is required/gm)].map(([, name]) => name!)
    return { read: plainNames(read), required }
  }
}

/** With an invalid port, which ends the embedded readConfig before it creates the data folder. */
function withInvalidPort(watched: Environment, read: Set<string>): Environment {
  return new Proxy(watched, {
    get: (_target, name) => {
      read.add(String(name))
      return name === 'PORT' ? 'none' : undefined
    },
  })
}

function plainNames(read: Set<string>): string[] {
  return [...read].filter((name) => !name.endsWith('_FILE')).sort()
}

export function readText(path: string): string {
  return readFileSync(resolve(projectRoot, path), 'utf8')
}

export type ComposeService = {
  image?: string
  command?: string[]
  entrypoint?: string[]
  /** Started by its name alone. */
  profiles?: string[]
  environment?: Record<string, string | number | null>
  secrets?: (string | { source: string; target: string })[]
  networks?: Record<string, { aliases?: string[] }> | string[]
  scale?: string
  restart?: string
  user?: string
  tmpfs?: string[]
  volumes?: string[]
  dns_opt?: string[]
  ports?: string[]
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  stop_grace_period?: string
  mem_limit?: string
  logging?: { driver: string; options: Record<string, string> }
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
}

export type ComposeNetwork = {
  internal?: boolean
  driver_opts?: Record<string, string>
  ipam?: { config: { subnet: string }[] }
}

export type ComposeFile = {
  services: Record<string, ComposeService>
  networks: Record<string, ComposeNetwork>
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}

/** The networks of a service, with its aliases on each. */
export function networksOf({ networks = {} }: ComposeService): Record<string, string[]> {
  if (Array.isArray(networks)) return Object.fromEntries(networks.map((name) => [name, []]))
  return Object.fromEntries(Object.entries(networks).map(([name, options]) => [name, options.aliases ?? []]))
}

export function readCompose(): ComposeFile {
  return parse(readText('docker-compose.yml'), { merge: true }) as ComposeFile
}

// Each kind has a schema of its own; the tests read single paths of it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Manifest = { kind: string; metadata: { name: string }; spec: any }

/** Every document of the Kustomize base. */
export function readBase(): Manifest[] {
  const folder = 'deploy/kubernetes/base'
  const files = readdirSync(resolve(projectRoot, folder)).filter((name) => name !== 'kustomization.yaml')
  return files.flatMap((name) =>
    parseAllDocuments(readText(`${folder}/${name}`)).map((document) => document.toJS() as Manifest),
  )
}

export type Kustomization = {
  resources: string[]
  configMapGenerator: { name: string; literals: string[] }[]
  secretGenerator?: { name: string; files: string[] }[]
  patches?: { target: { kind: string; name: string }; patch: string }[]
}

export function readKustomization(folder: string): Kustomization {
  return parse(readText(`deploy/kubernetes/${folder}/kustomization.yaml`)) as Kustomization
}
