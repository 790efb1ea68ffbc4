export { openEdgePorts, openPorts } from './open-ports.ts'
export type { EdgePorts, Ports } from './open-ports.ts'
export {
  federationVariables,
  networkVariables,
  placesOf,
  publicAddress,
  publicVariables,
  readFederation,
} from './settings.ts'
export type { FederationReach, PublicAddress } from './settings.ts'
export { portReadiness, startHttp } from './start-http.ts'
export type { RunningService } from './start-http.ts'
