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
      account?: { accountId: string }
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
  export type LibraryError = Error & { statusCode: number; error: string; error_description: string }
  type Listener = (ctx: ProviderContext, ...rest: unknown[]) => void

  /** An OpenID provider at `issuer`. */
  class Provider {
    constructor(issuer: string, configuration: object)
    readonly Client: { prototype: object }
    readonly Grant: { find(id: string): Promise<unknown> }
    proxy: boolean
    use(middleware: (ctx: ProviderContext, next: () => Promise<unknown>) => Promise<unknown>): this
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
  // eslint-disable-next-line no-restricted-exports -- The package has it so.
  export default Provider

  type Check = { reason: string; check: (ctx: ProviderContext) => boolean | Promise<boolean> }
  type NewCheck = new (reason: string, description: string, error: string, check: Check['check']) => Check
  type NewPrompt = new (info: { name: string; requestable: boolean }, ...checks: Check[]) => { name: string }
  export const interactionPolicy: { Check: NewCheck; Prompt: NewPrompt }
  export const errors: Record<
    'AccessDenied' | 'InvalidGrant' | 'InvalidRequest' | 'InvalidTarget' | 'InvalidRequestUri' | 'SessionNotFound',
    new (message?: string) => Error
  > & { OIDCProviderError: new (status: number, message: string) => Error }
}
