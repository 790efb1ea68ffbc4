import { commonResources, readSettings, serviceConfig, upstreamsConfig } from '@gatehouse/service-kit'
import type { ServiceConfig } from '@gatehouse/service-kit'

export type SessionGatewayConfig = ServiceConfig & {
  /** Nodes of an earlier run are evicted at once. */
  onlyNode?: boolean
  /** The file that declares the upstreams. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
  upstreamsFile?: string
}

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  return readSettings('session-gateway', environment, (settings, part) => {
    const config: SessionGatewayConfig = {
      ...part(serviceConfig),
      ...upstreamsConfig(settings),
      port: settings.SESSION_GATEWAY_PORT,
    }
    const postgres = { url: settings.DATABASE_URL, needsWrites: true }
    return { config, resources: { ...part(commonResources), postgres } }
  })
}
