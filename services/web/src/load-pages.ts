/** Loads what is behind the login. Called with the login request, so that both are under way at once. */
export function loadHomePage() {
  return import('./pages/home/index.ts')
}
