import './content-policy.ts'
import { createRoot } from 'react-dom/client'
import { go, place, SECTIONS } from './components/places.ts'
import { connectHost } from './feed/connect-host.ts'
import { App } from './shell/app.tsx'

const host = connectHost(window.gatehouse)
host.onNavigate(({ section, id }) => {
  const known = SECTIONS.find((name) => name === section)
  if (known) go(place(known, id))
})

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element #root')
createRoot(root).render(<App link={host.link} />)
window.addEventListener('pagehide', () => host.dispose())
