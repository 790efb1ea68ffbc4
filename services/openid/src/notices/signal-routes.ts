import Router from '@koa/router'
import type { Application } from '@gatehouse/domain'
import { transaction } from '@gatehouse/database'
import { asObject, jsonBody, type AppState } from '@gatehouse/service-kit'
import type { Context, Middleware } from 'koa'
import { findByCredentials } from '../clients/secrets.ts'
import type { Deps } from '../deps.ts'
import { noticePolicy } from './policy.ts'
import { signalUris } from './tokens.ts'
import { tellApplication, tryNow } from './write-notices.ts'

const push = 'urn:ietf:rfc:8935'
const events = Object.values(signalUris).filter((uri) => uri !== signalUris.verification)
const places = { stream: '/oauth2/signals/stream', verification: '/oauth2/signals/verify' }

/** The stream of an application, which an admin sets up. OpenID Shared Signals Framework 1.0, 7 and 8. */
export function signalRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const issuer = deps.config.publicAddress.origin
  const enabled: Middleware<AppState> = async (_ctx, next) => {
    await deps.requireEnabled()
    await next()
  }
  router.get('/.well-known/ssf-configuration', enabled, (ctx) => {
    ctx.body = {
      spec_version: '1_0',
      issuer,
      jwks_uri: `${issuer}/oauth2/jwks`,
      delivery_methods_supported: [push],
      configuration_endpoint: issuer + places.stream,
      verification_endpoint: issuer + places.verification,
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:7617' }],
      default_subjects: 'ALL',
    }
  })
  router.get(places.stream, enabled, async (ctx) => {
    const application = await authenticate(deps, ctx)
    if (!application) return
    const streamId = ctx.query['stream_id']
    if (!application.signalsUri || (streamId !== undefined && streamId !== application.id)) {
      return fail(ctx, 404, 'not_found')
    }
    ctx.body = streamOf(issuer, application)
  })
  router.post(places.verification, enabled, jsonBody, async (ctx) => {
    const application = await authenticate(deps, ctx)
    if (!application) return
    const { stream_id: stream, state } = asObject(ctx.state.body)
    if (!application.signalsUri || stream !== application.id) return fail(ctx, 404, 'not_found')
    if (state !== undefined && (typeof state !== 'string' || state.length > 1_000))
      return fail(ctx, 400, 'invalid_request')
    const at = deps.clock.now()
    const eventId = `${application.id}.${Math.floor(at / noticePolicy.verificationMs)}`
    if (!(await verify(deps, { application, eventId, state }))) {
      ctx.set('Retry-After', String(noticePolicy.verificationMs / 1000))
      return fail(ctx, 429, 'too_many_requests')
    }
    ctx.status = 204
  })
  return router
}

type Verification = { application: Pick<Application, 'id'>; eventId: string; state?: string | undefined }

/** False: one with that id was sent before. SSF 1.0, 8.1.4. */
export async function verify(
  deps: Pick<Deps, 'orm' | 'clock' | 'notices'>,
  { application, eventId, state }: Verification,
) {
  const facts = [{ kind: 'verification', at: deps.clock.now(), state }] as const
  const written = await transaction(deps.orm, async (em) => {
    const count = await tellApplication(em, application.id, { eventId, facts })
    if (count > 0) await tryNow(em, application.id, ['signals'])
    return count
  })
  deps.notices.notify()
  return written > 0
}

function streamOf(issuer: string, { id, signalsUri }: Application) {
  return {
    stream_id: id,
    iss: issuer,
    aud: id,
    delivery: { method: push, endpoint_url: signalsUri },
    events_supported: events,
    events_requested: events,
    events_delivered: events,
    min_verification_interval: noticePolicy.verificationMs / 1000,
  }
}

/** By client_secret_basic: RFC 6749, 2.3.1. Null: it was answered. */
async function authenticate(deps: Pick<Deps, 'orm' | 'clock'>, ctx: Context): Promise<Application | null> {
  const [scheme = '', credentials = ''] = ctx.get('authorization').split(' ')
  const [id = '', secret = ''] = Buffer.from(credentials, 'base64').toString('utf8').split(':')
  const application = scheme.toLowerCase() === 'basic' ? await findByCredentials(deps, { id, secret }) : null
  if (application) return application
  ctx.set('WWW-Authenticate', 'Basic realm="signals", charset="UTF-8"')
  fail(ctx, 401, 'invalid_client')
  return null
}

function fail(ctx: Context, status: number, error: string): void {
  ctx.status = status
  ctx.body = { error }
}
