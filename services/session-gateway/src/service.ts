import Router from '@koa/router'
import { createCallerKey, createTokenKey } from '@gatehouse/auth'
import { limits, presenceChanged } from '@gatehouse/contracts'
import { createQuota, startPeriodicTask, systemTimer, type Timer } from '@gatehouse/runtime'
import { startHttpService, type AppState, type RunningService } from '@gatehouse/service-kit'
import { subscribeAdminChanges } from './admin-watch/subscribe-admin-changes.ts'
import type { SessionGatewayConfig } from './config.ts'
import type { Deps, OperationContext, SessionGatewayResources } from './deps.ts'
import { RemotePresenceAnnouncer, subscribeRemotePresences } from './federation/announce-remote-presences.ts'
import { PeeringReader } from './federation/peering-summary.ts'
import { RemotePresences } from './federation/remote-presences.ts'
import { createSessionMetrics } from './metrics.ts'
import { closeEvictedSockets } from './nodes/close-evicted-sockets.ts'
import { maintainNodes } from './nodes/maintain-nodes.ts'
import { registerNode } from './nodes/session-node.ts'
import { timings, type Timings } from './policy.ts'
import { recoverMissedChanges } from './presence/missed-changes.ts'
import { PresenceBroadcaster } from './presence/presence-broadcaster.ts'
import { PresenceDelivery } from './presence/presence-delivery.ts'
import { PresenceReconciler } from './presence/presence-reconciler.ts'
import { createPresenceStore } from './presence/presence-store.ts'
import { addSocketRoutes } from './routes/sockets.ts'
import { SessionRegistry } from './sessions/session-registry.ts'
import { closeExpiredSessions } from './sessions/expire-sessions.ts'
import { subscribeSessionEndings } from './sessions/end-sessions.ts'
import { openSocketLists } from './sessions/socket-lists.ts'
import { sweepSessions } from './sessions/sweep-sessions.ts'
import { acceptSockets } from './socket/accept-sockets.ts'
import { OpenSockets } from './socket/open-sockets.ts'
import { createSocketTimeouts, startSocketTimeouts } from './socket/socket-timeouts.ts'
import { createUpstreamParts } from './upstreams/create-upstream-parts.ts'
import { startUpstreams } from './upstreams/start-upstreams.ts'

export { readConfig, type SessionGatewayConfig } from './config.ts'
export { type SessionGatewayResources } from './deps.ts'
export { type Timings } from './policy.ts'

export type SessionGatewayOverrides = { timings?: Partial<Timings>; timer?: Timer }

export async function startSessionGateway(
  config: SessionGatewayConfig,
  resources: SessionGatewayResources,
  overrides: SessionGatewayOverrides = {},
): Promise<RunningService> {
  await using opening = new AsyncDisposableStack()
  const openSockets = new OpenSockets()
  const router = new Router<AppState>({ sensitive: true })
  const service = {
    ...config,
    name: 'session-gateway',
    portVariable: 'SESSION_GATEWAY_PORT',
    routers: [router],
    readiness: {
      accepting: () => openSockets.accepting,
      // The node exists once sockets are accepted.
      heartbeat: () => openSockets.accepting && deps.node.isFresh(),
    },
    upgrades: true,
    // A refused connection lets the gateway try another node.
    announceDrain: false,
  }
  const http = opening.use(await startHttpService(service, resources))
  const deps = await openDeps(opening, { config, resources, overrides, openSockets })
  addSocketRoutes(router, { socketLists: opening.use(await openSocketLists(deps)) })
  opening.use(startSocketTimeouts(deps))
  opening.use(await maintainNodes(deps, config.onlyNode ?? false))
  opening.use(await subscribeSessionEndings(deps))
  opening.use(await subscribeAdminChanges(deps))
  const sweep = { name: 'session sweep', everyMs: deps.timings.sweepMs, log: deps.log, timer: deps.timer }
  opening.use(startPeriodicTask(sweep, () => sweepSessions(deps)))
  const announcer = opening.use(new RemotePresenceAnnouncer(deps))
  opening.use(await subscribeRemotePresences(deps, announcer))
  opening.use(await recoverMissedChanges(deps))
  const expiry = { name: 'session expiry', everyMs: deps.timings.expiryMs, log: deps.log, timer: deps.timer }
  opening.use(
    startPeriodicTask(expiry, async () => {
      closeExpiredSessions(deps)
      announcer.expire()
    }),
  )
  opening.use(await startUpstreams(deps, config.upstreamsFile))
  const sockets = acceptSockets(deps, http.server)
  // Together: closing sockets must not be replaced, and the server closes after the last one.
  opening.defer(async () => {
    await Promise.all([sockets[Symbol.asyncDispose](), http[Symbol.asyncDispose]()])
  })
  opening.use(closeEvictedSockets(deps))
  const open = opening.move()
  return { ...http, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

type Opening = {
  config: SessionGatewayConfig
  resources: SessionGatewayResources
  overrides: SessionGatewayOverrides
  openSockets: OpenSockets
}

/** `opening` closes what this opens. */
async function openDeps(opening: AsyncDisposableStack, given: Opening): Promise<Deps> {
  const { config, resources, overrides, openSockets } = given
  const timer = overrides.timer ?? systemTimer
  const context: OperationContext = { ...resources, timer, timings: { ...timings, ...overrides.timings } }
  const { bus } = resources
  const sessions = new SessionRegistry()
  const quota = createQuota(limits.unauthenticatedSocketsPerAddress)
  const sessionMetrics = createSessionMetrics(resources.metrics, {
    authenticated: () => sessions.countReady(),
    unauthenticated: () => quota.total(),
  })
  const remotePresences = new RemotePresences()
  const presenceStore = createPresenceStore(context)
  const node = await registerNode(context)
  const presenceDelivery = opening.use(
    new PresenceDelivery({ ...context, sessions, sessionMetrics, remotePresences, presenceStore, node }),
  )
  // Changes of other nodes are received before this node records any.
  opening.use(await bus.subscribe(presenceChanged, async ({ payload }) => presenceDelivery.takeTold(payload)))
  const broadcaster = new PresenceBroadcaster({ bus, presenceDelivery, sessionMetrics })
  const presence = opening.use(
    new PresenceReconciler({ ...context, sessions, store: presenceStore, broadcaster, node, remotePresences }),
  )
  return {
    ...context,
    bus,
    keys: {
      token: createTokenKey(config.jwtSecret, config.previousJwtSecrets),
      caller: createCallerKey(config.internalSecret, config.previousInternalSecrets),
    },
    sessionMetrics,
    sessions,
    node,
    presence,
    presenceStore,
    broadcaster,
    presenceDelivery,
    remotePresences,
    peering: new PeeringReader(context),
    openSockets,
    quota,
    timeouts: createSocketTimeouts(context),
    ...createUpstreamParts({ ...context, bus, sessionMetrics }),
  }
}
