import { readFile } from 'node:fs/promises'
import { upstreamsFile, type Upstream } from '@gatehouse/contracts'
import { ConfigurationError } from '../config/configuration.ts'
import { findConflicts } from './find-conflicts.ts'

/** The variable with the path of the file. Contract: 8. */
export const upstreamsVariable = 'GATEHOUSE_UPSTREAMS'

/**
 * Throws ConfigurationError with every fault and its place, such as `upstreams[0].routes[1].prefix: …`. Contract: 8,
 * GATEHOUSE_UPSTREAMS.
 */
export async function readUpstreams(path: string): Promise<Upstream[]> {
  const file = await parseYaml(await readText(path))
  const parsed = upstreamsFile.safeParse(file)
  const issues = parsed.success ? [] : parsed.error.issues
  const faults = [...issues.map(({ path, message }) => `${placeOf(path)}${message}`), ...findConflicts(file)]
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults)
  return parsed.data.upstreams
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const fault = `${upstreamsVariable}: cannot read the file that it names; check its path and permissions`
    throw new ConfigurationError([fault], { cause })
  }
}

async function parseYaml(text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { prettyErrors: true })
  if (document.errors.length > 0) {
    throw new ConfigurationError(
      document.errors.map(({ message }) => `${upstreamsVariable}: ${message.split('\n')[0]?.replace(/:$/, '')}`),
    )
  }
  try {
    return document.toJS()
  } catch (cause) {
    throw new ConfigurationError([`${upstreamsVariable}: cannot be read: ${String(cause)}`], { cause })
  }
}

function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return `${place.replace(/^\./, '') || upstreamsVariable}: `
}
