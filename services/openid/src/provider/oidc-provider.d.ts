/** The package has no types. What this project uses of it. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  import type { Context } from 'koa'

  export type Payload = Record<string, unknown>

  export type ProviderClient = { clientId: string; clientAuthMethod: string; redirectUris: string[] } & Payload
  export type ProviderContext = Context & {
    oidc: {
      route: string
      params?: Record<string, string | undefined>
      result?: Payload & { login?: { accountId: string }; consent?: { grantId: string } }
      session?: { accountId?: string; destroyed?: boolean }
      client?: ProviderClient
      entities: Record<string, unknown>
      provider: Provider
    }
  }
  export type ProviderInteraction = {
    uid: string
    iat: number
    params: Record<string, string | number | undefined>
    prompt: { name: string; reasons: string[] }
  }
  type Listener = (ctx: ProviderContext, ...rest: unknown[]) => void

  /** An OpenID provider at `issuer`. */
  class Provider {
    constructor(issuer: string, configuration: object)
    readonly Client: { prototype: object }
    readonly Grant: { find(id: string): Promise<unknown> }
    proxy: boolean
    use(middleware: (ctx: ProviderContext, next: () => Promise<unknown>) => Promise<void>): this
    on(event: string, listener: Listener): this
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<ProviderInteraction>
    interactionResult(
      request: IncomingMessage,
      response: ServerResponse,
      result: Payload,
      options: { mergeWithLastSubmission: boolean },
    ): Promise<string>
  }
  export default Provider

  type Checking = (ctx: ProviderContext) => boolean | Promise<boolean>
  class Check {
    constructor(reason: string, description: string, error: string, check: Checking)
  }
  class Prompt {
    constructor(info: { name: string; requestable: boolean }, ...checks: Check[])
  }
  export const interactionPolicy: { Check: typeof Check; Prompt: typeof Prompt }
  export const errors: Record<
    'InvalidGrant' | 'InvalidTarget' | 'InvalidRequestUri' | 'SessionNotFound',
    new (message?: string) => Error
  >
}
