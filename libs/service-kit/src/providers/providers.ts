import { readFile } from 'node:fs/promises'
import { providersFile, type IdentityProvider } from '@gatehouse/contracts'
import { ConfigurationError } from '../config/configuration.ts'
import { placeOf, readYaml, watchFile, type FileWatch } from '../config/watched-file.ts'
import type { Log } from '../log/log.ts'

/** With its secret, whichever way it is given. */
export type Provider = Omit<IdentityProvider, 'clientSecretFile'> & { clientSecret: string }

/** The variable with the path of the file. Contract: 8, settings. */
export const providersVariable = 'GATEHOUSE_PROVIDERS'

/** Reads the file, and again on each SIGHUP. Throws ConfigurationError. Contract: 3, Identity providers. */
export async function watchProviders(path: string, { log }: { log: Log }): Promise<FileWatch<readonly Provider[]>> {
  const names = (providers: readonly Provider[]) => providers.map(({ id }) => id)
  return await watchFile(() => readProviders(path), { log, what: 'providers', names })
}

/** Throws ConfigurationError with every fault and its place, which quotes no secret. Contract: 3, Identity providers. */
export async function readProviders(path: string): Promise<readonly Provider[]> {
  const parsed = providersFile.safeParse(await readYaml(path, providersVariable))
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${placeOf(issue.path, providersVariable)}${issue.message}`)
    throw new ConfigurationError(faults)
  }
  const { providers } = parsed.data
  const faults = [...findRepeated(providers, 'id'), ...findRepeated(providers, 'issuer')]
  const read = await Promise.all(providers.map((provider, at) => withSecret(provider, at, faults)))
  if (faults.length > 0) throw new ConfigurationError(faults)
  return read
}

function findRepeated(providers: readonly IdentityProvider[], name: 'id' | 'issuer'): string[] {
  return providers.flatMap((provider, at) => {
    const earlier = providers.findIndex((other) => other[name] === provider[name])
    return earlier < at ? [`providers[${at}].${name}: is that of providers[${earlier}]`] : []
  })
}

async function withSecret(entry: IdentityProvider, at: number, faults: string[]): Promise<Provider> {
  const { clientSecretFile, clientSecret = '', ...provider } = entry
  if (clientSecretFile === undefined) return { ...provider, clientSecret }
  const text = await readFile(clientSecretFile, 'utf8').catch(() => '')
  const fault = `providers[${at}].clientSecretFile: cannot read the file it names, or it is empty`
  if (text.trim() === '') faults.push(fault)
  return { ...provider, clientSecret: text.trim() }
}
