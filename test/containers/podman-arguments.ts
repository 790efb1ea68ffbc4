import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { networksOf, type ComposeFile, type ComposeService } from '../../deploy/test/read-manifests.ts'
import { projectName } from './project.ts'

const maxFiles = 65_536
const maxProcesses = 4_096

/** Where one container stands: its name, and the published port as `address:port:port`. */
export type Placement = { service: string; name: string; port: string | null; projectRoot: string }

/** The arguments of `podman create` for one container of a compose service. */
export function createArguments(placement: Placement, definition: ComposeService, compose: ComposeFile): string[] {
  const { service, name, port } = placement
  const labels = [`com.docker.compose.project=${projectName}`, `com.docker.compose.service=${service}`]
  return [
    '--name',
    name,
    '--restart',
    definition.restart ?? 'no',
    '--read-only-tmpfs=false',
    ...ownLimits(),
    ...labels.flatMap((label) => ['--label', label]),
    ...(definition.read_only ? ['--read-only'] : []),
    ...(definition.tmpfs ?? []).flatMap((path) => ['--tmpfs', path]),
    ...(definition.cap_drop ?? []).flatMap((capability) => ['--cap-drop', capability]),
    ...(definition.security_opt ?? []).flatMap((option) => ['--security-opt', option.replace(':true', '')]),
    ...(definition.dns_opt ?? []).flatMap((option) => ['--dns-opt', option]),
    ...(definition.mem_limit ? ['--memory', definition.mem_limit] : []),
    ...(definition.user ? ['--user', definition.user] : []),
    ...(definition.stop_grace_period
      ? ['--stop-timeout', String(Number.parseInt(definition.stop_grace_period, 10))]
      : []),
    ...Object.entries(definition.environment ?? {}).flatMap(([key, value]) => [
      '--env',
      `${key}=${String(value ?? '')}`,
    ]),
    ...networkArguments(service, definition),
    ...volumeArguments(placement, definition, compose),
    ...(port ? ['--publish', port] : []),
    ...(definition.entrypoint ? ['--entrypoint', JSON.stringify(definition.entrypoint)] : []),
    definition.image!,
    ...(definition.command ?? []),
  ]
}

/** Not above the hard limits of this process, as podman's defaults may be: then a container does not start. */
function ownLimits(): string[] {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const [, hard] = /^Max open files +\S+ +(\d+)/m.exec(limits) ?? []
  const files = Math.min(Number(hard ?? maxFiles), maxFiles)
  return ['--ulimit', `nofile=${files}:${files}`, '--ulimit', `nproc=${maxProcesses}:${maxProcesses}`]
}

/** Each network with the service's name and its aliases there. */
function networkArguments(service: string, definition: ComposeService): string[] {
  return Object.entries(networksOf(definition)).flatMap(([network, aliases]) => {
    const names = [service, ...aliases].map((alias) => `alias=${alias}`)
    return ['--network', `${projectName}_${network}:${names.join(',')}`]
  })
}

function volumeArguments({ projectRoot }: Placement, definition: ComposeService, compose: ComposeFile): string[] {
  const volumes = (definition.volumes ?? []).map((volume) => {
    const [source = '', ...rest] = volume.split(':')
    const from = /^[./]/.test(source) ? resolve(projectRoot, source) : `${projectName}_${source}`
    return [from, ...rest].join(':')
  })
  const secrets = (definition.secrets ?? []).map((secret) => {
    const { source, target } = typeof secret === 'string' ? { source: secret, target: secret } : secret
    const to = target.startsWith('/') ? target : `/run/secrets/${target}`
    return `${resolve(projectRoot, compose.secrets[source]!.file)}:${to}:ro`
  })
  return [...volumes, ...secrets].flatMap((volume) => ['--volume', volume])
}
