import { startHttp, type Ports, type RunningService } from '@gatehouse/service-kit'
import type { InviteConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { checkInviteRoutes } from './routes/check-invite.ts'
import { inviteRoutes } from './routes/invites.ts'

export { readConfig, type InviteConfig } from './config.ts'

/** Starts the invite service: invite links, their states and their redemptions. */
export async function startInvite(config: InviteConfig, ports: Ports): Promise<RunningService> {
  const deps: Deps = { ...ports, config }
  const routers = [checkInviteRoutes(deps), inviteRoutes(deps)]
  return await startHttp({ ...config, name: 'invite', portVariable: 'INVITE_PORT', routers }, ports)
}
