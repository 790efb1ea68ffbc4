declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  /** An OpenID provider at `issuer`. The package has no types. */
  class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
  export = Provider
}
