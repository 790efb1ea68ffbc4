import '../styles/providers.css'
import type { Provider } from '../providers.ts'

/** Nothing without a picture: its name stands beside. */
export function ProviderIcon({ provider }: { provider: Provider | undefined }) {
  return provider?.icon ? <img className="provider-icon" src={provider.icon} alt="" /> : null
}
